-- Releases the presences of a connection.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 user
--      3 connection
--      4 lease  those that belong to this lease; an empty text for those that belong to none
--      5 at     when they end, unless their deadline comes first; at once where that is not after now
--      6 due, 7 entry   of the entry that the caller has just added to the index of due groups, or empty texts
--      8 reason of those that end at once
-- Answers 1; 0 and 2 as set.lua does, when nothing was done.
local user, connection, lease, at = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local due = at > now and redis.call('HGET', meta, 'due')
if due and (tonumber(due) > at or is_overdue(due, now)) then
  if ARGV[7] == '' then return is_overdue(due, now) and 2 or 0 end
  redis.call('HSET', meta, 'due', ARGV[6], 'entry', ARGV[7])
end
local is_any = false
for _, presence in ipairs(has_records() and presences_of('u', user) or {}) do
  local record = connection_of(presence) == connection and record_of(presence)
  local deadline = record and record.lease == lease and deadline_by(presence, record) or 0
  if deadline > now then
    is_any = true
    if at <= now then
      leave(presence, ARGV[8])
    elseif deadline > at then
      if record.released == '' then
        record.released = string.format('%.0f=', deadline)
      end
      end_at(presence, record, ARGV[5], '')
      write_record(presence, record)
    end
  end
end
if is_any and at > now then publish_event({ type = 'releasing', userId = user, connection = connection }) end
return 1
