-- The beginning of set.lua, before group.lua: most updates are refreshes, which need none of its functions.
--
-- KEYS, ARGV: see set.lua
local KEYS_EACH = 6
local COUNT = #KEYS / KEYS_EACH
local ARGV_EACH = #ARGV / COUNT
local replies, done = {}, 0

-- Extends the deadline and answers true when the presence is at this location already and its index entries last long
-- enough; else does nothing.
local function refresh(location_texts, deadlines, meta, now, presence, location, deadline)
  local known = redis.call('HMGET', meta, 'due', 'until')
  if not known[1] or tonumber(known[1]) > tonumber(deadline) or is_overdue(known[1], now) then return false end
  if not known[2] or tonumber(known[2]) < tonumber(deadline) then return false end
  if redis.call('HGET', location_texts, presence) ~= location then return false end
  local ends = redis.call('ZSCORE', deadlines, presence)
  if not ends or tonumber(ends) <= tonumber(now) then return false end
  redis.call('ZADD', deadlines, deadline, presence)
  return true
end

-- An update with a connection or data needs more.
for at = 1, ARGV_EACH < 8 and COUNT or 0 do
  local k, a = (at - 1) * KEYS_EACH, (at - 1) * ARGV_EACH
  -- A step that fails here, by a key of another type, fails again below. The first step that is no refresh ends the loop:
  -- later steps may be about the same presence.
  local is_done, is_refreshed =
    pcall(refresh, KEYS[k + 1], KEYS[k + 2], KEYS[k + 4], unpack(ARGV, a + 1, a + 4))
  if not is_done or not is_refreshed then break end
  replies[at], done = 1, at
end
if done == COUNT then return replies end
