-- The beginning of every script on a group, before the script's own text. PUBLISH, DB, HISTORY_LENGTH,
-- HISTORY_MAX_BYTES, HISTORY_MS, RETENTION_MS, CHECKSUM_LENGTH, OVERDUE_MS and the bounds of the port are defined before it.
--
-- A presence is named by its holder, NUL and its region, or the hash of that where it is long; a holder by the user ID, NUL
-- and the incarnation of the membership. User IDs and locations have no NUL. Only `location_texts` has the texts of locations.
--
-- KEYS, in this order, all in the slot of the group
--   1 location_texts  hash: presence -> location
--   2 deadlines  sorted set: presence by deadline
--   3 index      sorted set, all of score 0 and so in the order of their bytes, which is that of code points:
--                `u` presence; `l` location key, presence; `p` pair key, presence;
--                `q` pair key, location key: once for all presences at the location, where it has several pairs
--   4 meta       hash: `due`, when the group is swept; `entry`, the ID of its entry in the index of due groups; `until`,
--                the latest deadline that the expiry of the keys covers
--   5 watched    hash: `until`, `epoch`, `offset`, `bytes` of the history, `before`, the checksum of the event before the
--                history; there while the group is watched
--   6 history    list: the last events
-- ARGV, in this order, then those of the script
--   1 now  milliseconds
local location_texts, deadlines, index, meta, watched, history = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local now = tonumber(ARGV[1])

local function user_of(presence)
  return presence:sub(1, presence:find('\0', 1, true) - 1)
end

local function holder_of(presence)
  return presence:sub(1, presence:find('\0', presence:find('\0', 1, true) + 1, true) - 1)
end

-- The `"key":"value"` texts of a canonical location. Escaped quotes are replaced first, so that every quote that is left
-- begins or ends a string.
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

-- 64 bits: a reading compares the pairs themselves, so pairs that share a key only cost more reading.
local function pair_key(pair)
  return redis.sha1hex(pair):sub(1, 16)
end

-- The presences of the user, or of the holder, whose index entries begin so.
local function presences_of(prefix, user)
  local from = prefix .. user
  local entries = redis.call('ZRANGEBYLEX', index, '[' .. from .. '\0', '(' .. from .. '\1')
  for at, entry in ipairs(entries) do entries[at] = entry:sub(#prefix + 1) end
  return entries
end

-- The user's presences at the location, those that reached their deadline included.
local function presences_at(user, location)
  return presences_of('l' .. location_key(location), user)
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

-- Lets the keys expire some days after the deadline, if no process sweeps by then. Redis is given a duration, so that it does
-- not matter which clock is right.
local function extend_expiry(deadline)
  local duration = math.max(tonumber(deadline) - now, 0) + RETENTION_MS
  for _, key in ipairs({ location_texts, deadlines, index, meta }) do
    if redis.call('PTTL', key) < duration then redis.call('PEXPIRE', key, string.format('%.0f', duration)) end
  end
  redis.call('HSET', meta, 'until', string.format('%.0f', tonumber(deadline) + RETENTION_MS / 2))
end

local function is_occupied(key)
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

local function store(presence, location, deadline)
  redis.call('HSET', location_texts, presence, location)
  redis.call('ZADD', deadlines, deadline, presence)
  local key = location_key(location)
  local entries = entries_of(presence, location, key, is_occupied(key), 0)
  redis.call('ZADD', index, 0, 'u' .. presence, 0, 'l' .. key .. presence, unpack(entries))
end

local function unindex(presence, location)
  local key = location_key(location)
  redis.call('ZREM', index, 'u' .. presence, 'l' .. key .. presence)
  redis.call('ZREM', index, unpack(entries_of(presence, location, key, is_occupied(key))))
end

-- Removes a presence and gives the location that it had, or false where there was none.
local function remove(presence)
  local location = redis.call('HGET', location_texts, presence)
  redis.call('ZREM', deadlines, presence)
  if not location then return false end
  redis.call('HDEL', location_texts, presence)
  unindex(presence, location)
  return location
end

-- Channels are the same in every database of a server.
local function publish(message)
  redis.call(PUBLISH, DB .. ':' .. watched, message)
end

-- Whether the group is watched. A lease that ran out ends the count: subscribers get an offset of -1.
local function is_watched()
  local known = redis.call('HMGET', watched, 'until', 'epoch')
  if not known[1] then return false end
  if tonumber(known[1]) > now then return true end
  redis.call('DEL', watched, history)
  publish(known[2] .. ' -1 ')
  return false
end

-- Two events that ever had one offset have different checksums, because each has the time of its caller.
local function checksum(event)
  return redis.sha1hex(event):sub(1, CHECKSUM_LENGTH)
end

-- Numbers, stores and publishes an event, a text of JSON. The caller has checked that the group is watched.
local function append(event)
  local offset = redis.call('HINCRBY', watched, 'offset', 1)
  local length = redis.call('RPUSH', history, event)
  if length == 1 then
    redis.call('PEXPIRE', history, HISTORY_MS)
    redis.call('HSET', watched, 'bytes', 0)
    redis.call('HDEL', watched, 'before')
  end
  local bytes = redis.call('HINCRBY', watched, 'bytes', #event)
  local removed
  while length > 1 and (length > HISTORY_LENGTH or bytes > HISTORY_MAX_BYTES) do
    removed = redis.call('LPOP', history)
    bytes = redis.call('HINCRBY', watched, 'bytes', -#removed)
    length = length - 1
  end
  if removed then redis.call('HSET', watched, 'before', checksum(removed)) end
  publish(redis.call('HGET', watched, 'epoch') .. ' ' .. offset .. ' ' .. event)
end

-- The checksum of the event that `count` events came after; an empty text where it is not known.
local function checksum_before(count)
  if count > 0 and count == redis.call('LLEN', history) then return redis.call('HGET', watched, 'before') or '' end
  local event = redis.call('LINDEX', history, -count - 1)
  return event and checksum(event) or ''
end

-- Extends the lease.
local function lease(until_time)
  if tonumber(redis.call('HGET', watched, 'until')) < tonumber(until_time) then
    redis.call('HSET', watched, 'until', until_time)
  end
  redis.call('PEXPIRE', watched, HISTORY_MS)
  redis.call('PEXPIRE', history, HISTORY_MS)
end

local function publish_event(event)
  if not is_watched() then return end
  event.now = now
  append(cjson.encode(event))
end

-- Ends a presence and publishes that the user left its location, unless another of their presences is there, live or not.
-- Answers the location that the user left, or false.
local function leave(presence, reason)
  local user, location = user_of(presence), remove(presence)
  if not location or #presences_at(user, location) > 0 then return false end
  publish_event({ type = 'departed', userId = user, location = location, reason = reason })
  return location
end
