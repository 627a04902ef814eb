-- What set.lua begins with, before group.lua: most of what comes is a refresh, which needs nothing of that.
--
-- KEYS, ARGV: see set.lua
local KEYS_EACH = 6
local COUNT = #KEYS / KEYS_EACH
local ARGV_EACH = #ARGV / COUNT
local replies, done = {}, 0

-- Puts the deadline off and answers true where the presence is at this location already and everything that leads to it
-- holds; else does nothing.
local function refresh(places, deadlines, meta, now, presence, location, deadline)
  local known = redis.call('HMGET', meta, 'due', 'until')
  if not known[1] or tonumber(known[1]) > tonumber(deadline) or is_overdue(known[1], now) then return false end
  if not known[2] or tonumber(known[2]) < tonumber(deadline) then return false end
  if redis.call('HGET', places, presence) ~= location then return false end
  local ends = redis.call('ZSCORE', deadlines, presence)
  if not ends or tonumber(ends) <= tonumber(now) then return false end
  redis.call('ZADD', deadlines, deadline, presence)
  return true
end

for at = 1, COUNT do
  local k, a = (at - 1) * KEYS_EACH, (at - 1) * ARGV_EACH
  -- What fails here, by a key of another type, fails again below. All that comes after what is no refresh is left too: it
  -- may be about the same presence.
  local is_done, is_refreshed =
    pcall(refresh, KEYS[k + 1], KEYS[k + 2], KEYS[k + 4], unpack(ARGV, a + 1, a + 4))
  if not is_done or not is_refreshed then break end
  replies[at], done = 1, at
end
if done == COUNT then return replies end
