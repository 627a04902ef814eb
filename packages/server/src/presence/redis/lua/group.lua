-- What every script on a group begins with; a script's text stands after this one. PUBLISH, DB, HISTORY_LENGTH,
-- HISTORY_MS, KEPT_MS, CHECKSUM_LENGTH and OVERDUE_MS are set before it.
--
-- A presence is named by its user ID, NUL and its region. User IDs and locations have no NUL.
--
-- KEYS, in this order, all in the slot of the group
--   1 places     hash: presence -> location
--   2 deadlines  sorted set: presence by deadline
--   3 index      sorted set, all of score 0 and so in the order of their bytes, which is that of code points:
--                `u` presence; `l` fingerprint of the location, presence; `p` fingerprint of a pair, presence;
--                `q` fingerprint of a pair, location: once for all who are there, where it has several pairs
--   4 meta       hash: `due`, the deadline from which on the group is looked at; `entry`, what names it in the index of
--                due groups; `until`, up to which deadline the keys are kept by their own expiry
--   5 watched    hash: `until`, `epoch`, `offset`; there while somebody watches
--   6 history    list: the last events
-- ARGV, in this order, then what the script itself names
--   1 now  milliseconds
local places, deadlines, index, meta, watched, history = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local now = tonumber(ARGV[1])

local function user_of(presence)
  return presence:sub(1, presence:find('\0', 1, true) - 1)
end

-- The `"key":"value"` texts of a canonical location. What is escaped becomes free of quotes first, so that every quote
-- left begins or ends a string.
local function pairs_of(location)
  local found = {}
  if location:find('\\', 1, true) then location = location:gsub('\\(.)', { ['"'] = '\1' }) end
  for pair in location:gmatch('"[^"]*":"[^"]*"') do found[#found + 1] = pair end
  return found
end

-- What an index entry begins with; two texts that share one are told apart by the location itself.
local function prefix_of(kind, text)
  return kind .. redis.sha1hex(text):sub(1, 16)
end

-- The presences of the user whose index entries begin so.
local function listed(prefix, user)
  local from = prefix .. user
  local entries = redis.call('ZRANGEBYLEX', index, '[' .. from .. '\0', '(' .. from .. '\1')
  for at, entry in ipairs(entries) do entries[at] = entry:sub(#prefix + 1) end
  return entries
end

-- The user's presences at the location, those that reached their deadline included.
local function presences_at(user, location)
  local found = {}
  for _, presence in ipairs(listed(prefix_of('l', location), user)) do
    if redis.call('HGET', places, presence) == location then found[#found + 1] = presence end
  end
  return found
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

local function is_anybody_at(place_prefix)
  local range = { '[' .. place_prefix, '(' .. place_prefix .. '\255' }
  return #redis.call('ZRANGEBYLEX', index, range[1], range[2], 'LIMIT', 0, 1) > 0
end

-- What leads to a presence, each entry after `score` where that is given; and to its place, unless others are there.
local function entries_of(presence, location, has_others, score)
  local location_pairs = pairs_of(location)
  local found = {}
  local function add(entry)
    if score then found[#found + 1] = score end
    found[#found + 1] = entry
  end
  for _, pair in ipairs(location_pairs) do
    add(prefix_of('p', pair) .. presence)
    if #location_pairs > 1 and not has_others then add(prefix_of('q', pair) .. location) end
  end
  return found
end

local function place(presence, location, deadline)
  redis.call('HSET', places, presence, location)
  redis.call('ZADD', deadlines, deadline, presence)
  local at_place = prefix_of('l', location)
  local entries = entries_of(presence, location, is_anybody_at(at_place), 0)
  redis.call('ZADD', index, 0, 'u' .. presence, 0, at_place .. presence, unpack(entries))
end

local function unlist(presence, location)
  local at_place = prefix_of('l', location)
  redis.call('ZREM', index, 'u' .. presence, at_place .. presence)
  redis.call('ZREM', index, unpack(entries_of(presence, location, is_anybody_at(at_place))))
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
  if length == 1 then redis.call('PEXPIRE', history, HISTORY_MS) end
  if length > HISTORY_LENGTH then redis.call('LPOP', history) end
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
