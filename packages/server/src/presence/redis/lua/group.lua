-- What every script on a group begins with; a script's text stands after this one. PUBLISH, DB, HISTORY_LENGTH,
-- HISTORY_MAX_BYTES, HISTORY_MS, KEPT_MS, CHECKSUM_LENGTH, OVERDUE_MS and the bounds of the port are set before it.
--
-- A presence is named by its holder, NUL and its region, or the hash of that where it is long; a holder by the user ID, NUL
-- and the incarnation of the membership. User IDs and locations have no NUL. The text of a location stands in `places` and nowhere else.
--
-- KEYS, in this order, all in the slot of the group
--   1 places     hash: presence -> location
--   2 deadlines  sorted set: presence by deadline
--   3 index      sorted set, all of score 0 and so in the order of their bytes, which is that of code points:
--                `u` presence; `l` location key, presence; `p` pair key, presence;
--                `q` pair key, location key: once for all presences at the location, where it has several pairs
--   4 meta       hash: `due`, the deadline from which on the group is looked at; `entry`, what names it in the index of
--                due groups; `until`, up to which deadline the keys are kept by their own expiry
--   5 watched    hash: `until`, `epoch`, `offset`, `bytes` of the history; there while the group is watched
--   6 history    list: the last events
-- ARGV, in this order, then what the script itself names
--   1 now  milliseconds
local places, deadlines, index, meta, watched, history = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local now = tonumber(ARGV[1])

local function user_of(presence)
  return presence:sub(1, presence:find('\0', 1, true) - 1)
end

local function holder_of(presence)
  return presence:sub(1, presence:find('\0', presence:find('\0', 1, true) + 1, true) - 1)
end

-- The `"key":"value"` texts of a canonical location. What is escaped becomes free of quotes first, so that every quote
-- left begins or ends a string.
local function pairs_of(location)
  local found = {}
  if location:find('\\', 1, true) then location = location:gsub('\\(.)', { ['"'] = '\1' }) end
  for pair in location:gmatch('"[^"]*":"[^"]*"') do found[#found + 1] = pair end
  return found
end

-- 128 bits of a hash: two locations do not share a key.
local function location_key(location)
  return redis.sha1hex(location):sub(1, 32)
end

-- 64 bits: a reading compares the pairs themselves, so pairs that share a key only make it read more.
local function pair_key(pair)
  return redis.sha1hex(pair):sub(1, 16)
end

-- The presences of the user, or of the holder, whose index entries begin so.
local function listed(prefix, user)
  local from = prefix .. user
  local entries = redis.call('ZRANGEBYLEX', index, '[' .. from .. '\0', '(' .. from .. '\1')
  for at, entry in ipairs(entries) do entries[at] = entry:sub(#prefix + 1) end
  return entries
end

-- The user's presences at the location, those that reached their deadline included.
local function presences_at(user, location)
  return listed('l' .. location_key(location), user)
end

local function deadline_of(presence)
  return tonumber(redis.call('ZSCORE', deadlines, presence) or 0)
end

local function is_any_live(presences)
  for _, presence in ipairs(presences) do
    if deadline_of(presence) > now then return true end
  end
  return false
end

-- Lets the keys vanish some days after the deadline, should nobody sweep by then. What is given to Redis is a duration, so
-- that it does not matter whose clock says what.
local function keep(deadline)
  local duration = math.max(tonumber(deadline) - now, 0) + KEPT_MS
  for _, key in ipairs({ places, deadlines, index, meta }) do
    if redis.call('PTTL', key) < duration then redis.call('PEXPIRE', key, string.format('%.0f', duration)) end
  end
  redis.call('HSET', meta, 'until', string.format('%.0f', tonumber(deadline) + KEPT_MS / 2))
end

local function is_anybody_at(key)
  local range = { '[l' .. key, '(l' .. key .. '\255' }
  return #redis.call('ZRANGEBYLEX', index, range[1], range[2], 'LIMIT', 0, 1) > 0
end

-- The index entries of a presence and, unless others are at its location, of the location; each after `score` where that
-- is given. `key` is that of the location.
local function entries_of(presence, location, key, has_others, score)
  local location_pairs = pairs_of(location)
  local found = {}
  local function add(entry)
    if score then found[#found + 1] = score end
    found[#found + 1] = entry
  end
  for _, pair in ipairs(location_pairs) do
    local of_pair = pair_key(pair)
    add('p' .. of_pair .. presence)
    if #location_pairs > 1 and not has_others then add('q' .. of_pair .. key) end
  end
  return found
end

local function place(presence, location, deadline)
  redis.call('HSET', places, presence, location)
  redis.call('ZADD', deadlines, deadline, presence)
  local key = location_key(location)
  local entries = entries_of(presence, location, key, is_anybody_at(key), 0)
  redis.call('ZADD', index, 0, 'u' .. presence, 0, 'l' .. key .. presence, unpack(entries))
end

local function unlist(presence, location)
  local key = location_key(location)
  redis.call('ZREM', index, 'u' .. presence, 'l' .. key .. presence)
  redis.call('ZREM', index, unpack(entries_of(presence, location, key, is_anybody_at(key))))
end

-- Removes a presence and gives the location that it had, or false where there was none.
local function remove(presence)
  local location = redis.call('HGET', places, presence)
  redis.call('ZREM', deadlines, presence)
  if not location then return false end
  redis.call('HDEL', places, presence)
  unlist(presence, location)
  return location
end

-- Channels are the same in every database of a server.
local function publish(message)
  redis.call(PUBLISH, DB .. ':' .. watched, message)
end

-- Whether somebody watches. A lease that ran out ends the count: whoever still listens is told by an offset of -1.
local function is_watched()
  local known = redis.call('HMGET', watched, 'until', 'epoch')
  if not known[1] then return false end
  if tonumber(known[1]) > now then return true end
  redis.call('DEL', watched, history)
  publish(known[2] .. ' -1 ')
  return false
end

-- Tells a text of JSON to those who watch; to be asked before whether anybody does.
local function append(event)
  local offset = redis.call('HINCRBY', watched, 'offset', 1)
  local length = redis.call('RPUSH', history, event)
  if length == 1 then
    redis.call('PEXPIRE', history, HISTORY_MS)
    redis.call('HSET', watched, 'bytes', 0)
  end
  local bytes = redis.call('HINCRBY', watched, 'bytes', #event)
  while length > 1 and (length > HISTORY_LENGTH or bytes > HISTORY_MAX_BYTES) do
    bytes = redis.call('HINCRBY', watched, 'bytes', -#redis.call('LPOP', history))
    length = length - 1
  end
  publish(redis.call('HGET', watched, 'epoch') .. ' ' .. offset .. ' ' .. event)
end

-- Names the event at the end of the history, or at `index` from there: two events that ever had one offset differ by it,
-- because each carries the time of its caller.
local function checksum_of(index)
  local event = redis.call('LINDEX', history, index)
  return event and redis.sha1hex(event):sub(1, CHECKSUM_LENGTH) or ''
end

-- Extends the lease.
local function lease(until_time)
  if tonumber(redis.call('HGET', watched, 'until')) < tonumber(until_time) then
    redis.call('HSET', watched, 'until', until_time)
  end
  redis.call('PEXPIRE', watched, HISTORY_MS)
  redis.call('PEXPIRE', history, HISTORY_MS)
end

local function tell(event)
  if not is_watched() then return end
  event.now = now
  append(cjson.encode(event))
end

-- Ends a presence and publishes that the user left its location, unless another of their presences is there, live or not.
-- Answers the location that the user left, or false.
local function leave(presence, reason)
  local user, location = user_of(presence), remove(presence)
  if not location or #presences_at(user, location) > 0 then return false end
  tell({ type = 'left', userId = user, location = location, reason = reason })
  return location
end
