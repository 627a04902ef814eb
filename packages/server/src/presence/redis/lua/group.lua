-- The beginning of every script on a group: its presences. group-history.lua, group-events.lua and the script's own text
-- follow. PUBLISH, DB, HISTORY_LENGTH, HISTORY_MAX_BYTES, HISTORY_MS, RETENTION_MS, CHECKSUM_LENGTH, OVERDUE_MS and the bounds
-- of the port are defined before it.
--
-- A presence is the location of a user in a region, as one connection or the updates without a connection hold it. It is named by
-- its holder, NUL, its region or the hash of that where it is long, and where it has a connection, NUL and the connection. A
-- holder is the user ID, NUL and the incarnation of the membership. No ID, location, region and connection has a NUL.
--
-- A presence with a connection or data, or one that is not the only one of its region or of its user's location, has a record:
-- its order, lease, release (the deadline before it and `=`) and data, each on a line. Its order is greater than that of all whose
-- location changed before; without a record it is 0. A presence belongs to a lease, or has a deadline of its own.
--
-- KEYS, in this order, all in the slot of the group
--   1 location_texts  hash: presence -> location, or `=` and the location key for a presence with a connection; NUL, `l`, location
--                key -> location, for these; NUL, `h`, presence -> record; NUL, `c`, lease -> how many updates it has had
--   2 deadlines  sorted set: presence by deadline; NUL, lease by deadline
--   3 index      sorted set, all of score 0 and so in the order of their bytes, which is that of code points:
--                `u` presence; `l` location key, presence; `p` pair key, presence;
--                `q` pair key, location key: once for all presences at the location, where it has several pairs;
--                `e` lease, NUL, presence
--   4 meta       hash: `due`, when the group is swept; `entry`, the ID of its entry in the index of due groups; `until`,
--                the latest deadline that the expiry of the keys covers; `order`, the greatest that was given: absent while no
--                presence has a record
--   5 watched    hash: `until`, `epoch`, `offset`, `bytes` of the history, `before`, the checksum of the event before the
--                history; `recorded`, see publish.lua; there while the group is watched
--   6 history    list: the last events
-- ARGV, in this order, then those of the script
--   1 now  milliseconds
local location_texts, deadlines, index, meta, watched, history = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local now = tonumber(ARGV[1])

-- Whether presences may have records; nil until it is read.
local records

local function has_records()
  if records == nil then records = redis.call('HGET', meta, 'order') ~= false end
  return records
end

local function user_of(presence)
  return presence:match('^%Z+')
end

local function holder_of(presence)
  return presence:match('^%Z+%z%Z+')
end

-- The name that the presences of the region begin with.
local function region_of(presence)
  return presence:match('^%Z+%z%Z+%z%Z+')
end

-- Nil for a presence without one.
local function connection_of(presence)
  return presence:match('^%Z+%z%Z+%z%Z+%z(%Z+)$')
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

local function parse_record(text)
  local order, lease, released, data = text:match('^(%d+)\n([^\n]*)\n([^\n]*)\n(.*)$')
  return { order = tonumber(order), lease = lease, released = released, data = data }
end

-- The record of a presence, or nil.
local function record_of(presence)
  local text = has_records() and redis.call('HGET', location_texts, '\0h' .. presence)
  return text and parse_record(text) or nil
end

-- The records of presences in one read: by presence, those that have one.
local function records_of(presences)
  local found = {}
  if #presences == 0 or not has_records() then return found end
  local names = {}
  for at, presence in ipairs(presences) do names[at] = '\0h' .. presence end
  for at, text in ipairs(redis.call('HMGET', location_texts, unpack(names))) do
    if text then found[presences[at]] = parse_record(text) end
  end
  return found
end

local function write_record(presence, record)
  local text = table.concat({ string.format('%.0f', record.order), record.lease, record.released, record.data }, '\n')
  redis.call('HSET', location_texts, '\0h' .. presence, text)
end

-- The deadline of a presence that has this record, or nil.
local function deadline_by(presence, record)
  local own = redis.call('ZSCORE', deadlines, presence)
  if not own and record and record.lease ~= '' then own = redis.call('ZSCORE', deadlines, '\0' .. record.lease) end
  return tonumber(own or 0)
end

local function deadline_of(presence)
  local own = redis.call('ZSCORE', deadlines, presence)
  return own and tonumber(own) or deadline_by(presence, record_of(presence))
end

local function is_any_live(presences)
  for _, presence in ipairs(presences) do
    if deadline_of(presence) > now then return true end
  end
  return false
end

-- The location that a value of location_texts stands for.
local function location_by(value)
  if value and value:sub(1, 1) == '=' then return redis.call('HGET', location_texts, '\0l' .. value:sub(2)) end
  return value
end

local function location_of(presence)
  return location_by(redis.call('HGET', location_texts, presence))
end

-- The presences of the region of this presence.
local function of_region(presence)
  local from = 'u' .. region_of(presence)
  local entries = redis.call('ZRANGEBYLEX', index, '[' .. from, '(' .. from .. '\1')
  for at, entry in ipairs(entries) do entries[at] = entry:sub(2) end
  return entries
end

-- The presence whose location changed last, and its record.
local function newest_of(presences)
  local newest, newest_record
  local known = records_of(presences)
  for _, presence in ipairs(presences) do
    local record = known[presence]
    if not newest or (record and record.order or 0) > (newest_record and newest_record.order or 0) then
      newest, newest_record = presence, record
    end
  end
  return newest, newest_record
end

-- Those of a user's presences that are the newest of their regions, live or not. One without a record is alone in its region. Each
-- region is read once: a user can have hundreds of presences in a few.
local function newest_among(presences)
  local found, newest = {}, {}
  local known = records_of(presences)
  for _, presence in ipairs(presences) do
    if known[presence] then
      local region = region_of(presence)
      newest[region] = newest[region] or (newest_of(of_region(presence)))
      if newest[region] == presence then found[#found + 1] = presence end
    else
      found[#found + 1] = presence
    end
  end
  return found
end

-- By region: the presence that a reading shows. For scripts that change nothing.
local shown_in = {}

-- Whether a reading shows a live presence with this record: no newer live one of its region hides it.
local function is_uncovered(presence, record)
  local region = region_of(presence)
  if not shown_in[region] then
    local newest_order = -1
    local others = of_region(presence)
    local known = records_of(others)
    for _, other in ipairs(others) do
      local order = known[other] and known[other].order or 0
      if order > newest_order and deadline_by(other, known[other]) > now then
        shown_in[region], newest_order = other, order
      end
    end
  end
  return shown_in[region] == presence
end

-- The user's presences at the location that are the newest of their regions.
local function newest_at(user, location)
  return newest_among(presences_at(user, location))
end

-- Whether watchers know the user at the location, and that is still so. A reading can show more: in a region whose newest presence
-- has ended and is not swept, watchers do not know the next one.
local function is_known_at(user, location)
  return is_any_live(newest_at(user, location))
end

-- The data of a location; an empty text for none.
local function data_at(user, location)
  if not has_records() then return '' end
  local _, record = newest_of(newest_at(user, location))
  return record and record.data or ''
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

-- One of the presences at the location that has this key, or nil.
local function presence_with(key)
  local range = { '[l' .. key, '(l' .. key .. '\255' }
  local entry = redis.call('ZRANGEBYLEX', index, range[1], range[2], 'LIMIT', 0, 1)[1]
  return entry and entry:sub(#key + 2)
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

-- Stores a presence without its deadline. The location of one with a connection is stored once for all of these.
local function store(presence, location)
  local key = location_key(location)
  if connection_of(presence) then
    redis.call('HSET', location_texts, presence, '=' .. key, '\0l' .. key, location)
  else
    redis.call('HSET', location_texts, presence, location)
  end
  local entries = entries_of(presence, location, key, presence_with(key), 0)
  redis.call('ZADD', index, 0, 'u' .. presence, 0, 'l' .. key .. presence, unpack(entries))
end

local function unindex(presence, location)
  local key = location_key(location)
  redis.call('ZREM', index, 'u' .. presence, 'l' .. key .. presence)
  local has_others = presence_with(key)
  redis.call('ZREM', index, unpack(entries_of(presence, location, key, has_others)))
  if has_records() and not has_others then redis.call('HDEL', location_texts, '\0l' .. key) end
end

-- How many presences belong to the lease.
local function lease_size(lease)
  return redis.call('ZLEXCOUNT', index, '[e' .. lease .. '\0', '(e' .. lease .. '\1')
end

-- Takes a presence out of its lease, which lives until its deadline without any. The caller writes the record.
local function leave_lease(presence, record)
  if record.lease == '' then return end
  redis.call('ZREM', index, 'e' .. record.lease .. '\0' .. presence)
  record.lease = ''
end

-- Gives a presence a deadline of its own, or where `lease` is not empty, that lease. The caller writes the record. The new deadline
-- is added before the old one is removed: Redis removes an empty set, and the next one would not expire.
local function end_at(presence, record, deadline, lease)
  if lease == '' then
    redis.call('ZADD', deadlines, deadline, presence)
    if record then leave_lease(presence, record) end
    return
  end
  redis.call('ZADD', deadlines, 'GT', deadline, '\0' .. lease)
  redis.call('HINCRBY', location_texts, '\0c' .. lease, 1)
  if record.lease ~= lease then
    leave_lease(presence, record)
    redis.call('ZREM', deadlines, presence)
    redis.call('ZADD', index, 0, 'e' .. lease .. '\0' .. presence)
    record.lease = lease
  end
end

-- Removes a presence and gives the location that it had, or false where there was none.
local function remove(presence)
  local location = location_of(presence)
  local record = record_of(presence)
  redis.call('ZREM', deadlines, presence)
  if record then
    leave_lease(presence, record)
    redis.call('HDEL', location_texts, '\0h' .. presence)
  end
  if not location then return false end
  redis.call('HDEL', location_texts, presence)
  unindex(presence, location)
  return location
end
