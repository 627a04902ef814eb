-- Takes back the release of a connection's presences that are still live.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 user
--      3 connection
for _, presence in ipairs(has_records() and presences_of('u', ARGV[2]) or {}) do
  local record = connection_of(presence) == ARGV[3] and record_of(presence)
  if record and record.released ~= '' and deadline_by(presence, record) > now then
    end_at(presence, record, record.released:match('^%d+'), '')
    record.released = ''
    write_record(presence, record)
  end
end
