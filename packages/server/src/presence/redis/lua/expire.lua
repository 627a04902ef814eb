-- Drops what reached its deadline in a group, and puts off when the group is to be looked at next.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 limit  how many presences to drop
--      3 entry  what names the group in the index of due groups, where the caller found it
-- Answers {next, user, location, deadline, user, …}: who left where, in order of deadline, and what is to become of the
-- entry: the deadline to which it is put off; `more` where the limit was reached: call again; `drop` where the group is
-- empty; `other` where it is not the one that the group counts on.
local limit, entry = tonumber(ARGV[2]), ARGV[3]
local told = { 'more' }
local due = redis.call('ZRANGEBYSCORE', deadlines, '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, limit)
for at = 1, #due, 2 do
  local location = leave(due[at], 'expired')
  if location then
    told[#told + 1] = user_of(due[at])
    told[#told + 1] = location
    told[#told + 1] = due[at + 1]
  end
end
if #due == 2 * limit then return told end

local known = redis.call('HMGET', meta, 'entry', 'due')
local counted = known[1]
local earliest = redis.call('ZRANGE', deadlines, 0, 0, 'WITHSCORES')[2]
if counted and counted ~= entry and not is_overdue(known[2], now) then
  told[1] = 'other'
elseif earliest then
  redis.call('HSET', meta, 'due', earliest, 'entry', entry)
  told[1] = earliest
elseif counted then
  redis.call('DEL', meta)
  told[1] = 'drop'
else
  told[1] = 'other'
end
return told
