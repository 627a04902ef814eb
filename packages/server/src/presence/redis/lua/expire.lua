-- Ends the presences of a group that reached their deadline, and schedules its next sweep.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 limit  how many presences to drop, about
--      3 entry  ID of the group's entry in the index of due groups that the caller found
--      4 latest  where the clock was set back: later deadlines are brought forward to this time. Absent otherwise
-- Answers {next, user, location, deadline, user, …}: who left which location, in order of deadline. `next` is what becomes
-- of the entry: its next deadline; `more` where the limit was reached: call again; `drop` where the group is empty; `other`
-- where the group relies on another entry.
-- The first write is for a full memory: see claim.lua.
redis.call('HDEL', meta, '')
local limit, entry, latest = tonumber(ARGV[2]), ARGV[3], ARGV[4]
local reply = { 'more' }
local ended = 0

if latest then
  local later = redis.call('ZRANGEBYSCORE', deadlines, '(' .. latest, '+inf', 'LIMIT', 0, limit)
  for _, presence in ipairs(later) do redis.call('ZADD', deadlines, latest, presence) end
  -- The expiry of the keys has not covered the time that comes again.
  redis.call('HDEL', meta, 'until')
  if #later == limit then return reply end
end

local function expire(presence, deadline)
  ended = ended + 1
  local location = leave(presence, 'expired')
  if location then
    reply[#reply + 1] = user_of(presence)
    reply[#reply + 1] = location
    reply[#reply + 1] = deadline
  end
end

local due = redis.call('ZRANGEBYSCORE', deadlines, '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, limit)
for at = 1, #due, 2 do
  if due[at]:sub(1, 1) == '\0' then
    local lease, count = due[at]:sub(2), math.max(limit - ended, 1)
    local from = 'e' .. lease
    local entries = redis.call('ZRANGEBYLEX', index, '[' .. from .. '\0', '(' .. from .. '\1', 'LIMIT', 0, count)
    for _, lease_entry in ipairs(entries) do expire(lease_entry:sub(#from + 2), due[at + 1]) end
    if #entries < count then
      redis.call('ZREM', deadlines, due[at])
      redis.call('HDEL', location_texts, '\0c' .. lease)
    end
  else
    expire(due[at], due[at + 1])
  end
end
if ended >= limit then return reply end

local known = redis.call('HMGET', meta, 'entry', 'due')
local relied_on = known[1]
local earliest = redis.call('ZRANGE', deadlines, 0, 0, 'WITHSCORES')[2]
if relied_on and relied_on ~= entry and not is_overdue(known[2], now) then
  reply[1] = 'other'
elseif earliest then
  redis.call('HSET', meta, 'due', earliest, 'entry', entry)
  reply[1] = earliest
elseif relied_on then
  redis.call('DEL', meta)
  reply[1] = 'drop'
else
  reply[1] = 'other'
end
return reply
