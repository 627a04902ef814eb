-- Sets users present, each at a location until a deadline; it replaces the location of the region. Each update is a step of
-- its own and fails alone.
--
-- KEYS      for each, those of group.lua; all in one slot
-- ARGV      for each, those of group.lua, then
--      2 presence
--      3 location
--      4 deadline
--      5 due, 6 entry   of the entry that the caller has just added to the index of due groups, if it has
--      7 lease, 8 data  of updates with a connection or data, whose 5 and 6 may be empty texts. An empty lease is none;
--                       empty data stay as they are, `null` removes them.
--      9 condition      of the same: a HoldCondition of the port, or an empty text
-- Answers for each 0: nothing was done, because no entry of the index is due in time: register the group and call again;
--         2: the same, with an entry that is due now, because the group's entry was lost; 1: only the deadline or data changed;
--         3: nothing was done, because the lease has ended; 4: the same, because of the condition;
--         else {arrived, created, the location departed from or false}.

-- Adds a presence to those that end together.
local function bundle(bundles, names, name, presence, deadline, bytes)
  local known = bundles[name]
  if not known then
    known = { presences = {}, deadline = deadline, bytes = bytes }
    bundles[name] = known
    names[#names + 1] = name
  end
  known.presences[#known.presences + 1] = presence
  known.deadline = math.max(known.deadline, deadline)
end

-- Ends those of the user's presences that are too many, the earliest deadline first and never `latest`. Up to `few` of them cannot
-- exceed the bound and are only counted. `name_of` names what ends together, or nil; `is_within` is given how many there are and
-- the bytes of their locations.
local function enforce(user, latest, few, name_of, is_within)
  local count = redis.call('ZLEXCOUNT', index, '[u' .. user .. '\0', '(u' .. user .. '\1')
  if count <= few then return end
  local presences = presences_of('u', user)
  local values = redis.call('HMGET', location_texts, unpack(presences))
  local ends = redis.call('ZMSCORE', deadlines, unpack(presences))
  local bundles, names, lengths, bytes = {}, {}, {}, 0
  for at, presence in ipairs(presences) do
    local value = values[at]
    if value:sub(1, 1) == '=' then
      lengths[value] = lengths[value] or redis.call('HSTRLEN', location_texts, '\0l' .. value:sub(2))
    else
      local length = #value
      value = '=' .. location_key(value)
      lengths[value] = length
    end
    local name = name_of(presence, value)
    local deadline = ends[at] and tonumber(ends[at]) or deadline_of(presence)
    if name then bundle(bundles, names, name, presence, deadline, lengths[value]) end
  end
  for _, name in ipairs(names) do bytes = bytes + bundles[name].bytes end
  if is_within(#names, bytes) then return end

  local latest_value = redis.call('HGET', location_texts, latest)
  if latest_value:sub(1, 1) ~= '=' then latest_value = '=' .. location_key(latest_value) end
  local left, latest_name = #names, name_of(latest, latest_value)
  table.sort(names, function(a, b) return bundles[a].deadline < bundles[b].deadline end)
  for _, name in ipairs(names) do
    if is_within(left, bytes) then return end
    if name ~= latest_name then
      for _, presence in ipairs(bundles[name].presences) do
        leave(presence, deadline_of(presence) <= now and 'expired' or 'removed')
      end
      left, bytes = left - 1, bytes - bundles[name].bytes
    end
  end
end

local function enforce_bounds(user, latest)
  if has_records() then
    enforce(user, latest, HOLDS_MAX, function(presence) return presence end, function(count) return count <= HOLDS_MAX end)
    enforce(user, latest, CONNECTIONS_MAX, connection_of, function(count) return count <= CONNECTIONS_MAX end)
  end
  local function location_in_region(presence, value) return region_of(presence) .. '\0' .. value end
  enforce(user, latest, LOCATIONS_MAX_BYTES / LOCATION_MAX_BYTES, location_in_region, function(count, bytes)
    return count <= LOCATIONS_MAX and bytes <= LOCATIONS_MAX_BYTES
  end)
end

-- Ends the presences of the user that belong to another membership. All presences of a user belong to one, so the first entry is enough.
local function end_other_membership(user, holder)
  local from = 'u' .. user
  local entry = redis.call('ZRANGEBYLEX', index, '[' .. from .. '\0', '(' .. from .. '\1', 'LIMIT', 0, 1)[1]
  if not entry or holder_of(entry:sub(2)) == holder then return end
  for _, presence in ipairs(presences_of('u', user)) do
    leave(presence, deadline_of(presence) <= now and 'expired' or 'removed')
  end
end

-- Extends a live presence at the same location.
local function extend(presence, location, deadline, lease, data)
  local record = record_of(presence)
  if not record and data ~= '' and data ~= 'null' then
    record = { order = 0, lease = '', released = '', data = '' }
    redis.call('HINCRBY', meta, 'order', 0)
    records = true
  end
  end_at(presence, record, deadline, lease)
  if not record then return end
  local before = data_at(user_of(presence), location)
  record.released = ''
  if data ~= '' then record.data = data ~= 'null' and data or '' end
  write_record(presence, record)
  if data ~= '' then publish_data(user_of(presence), location, before) end
end

-- Stores a presence that is new, ended, or at another location. `others` are those of its region and of the location. One that is not
-- alone gets a record, and so do the others.
local function put(presence, location, deadline, lease, data, was_live, others)
  local record = record_of(presence)
  local is_alone = true
  for _, other in ipairs(others) do is_alone = is_alone and other == presence end
  if not record and (not is_alone or connection_of(presence) or (data ~= '' and data ~= 'null')) then
    record = { lease = '', released = '', data = '' }
  end
  if record then
    record.order = redis.call('HINCRBY', meta, 'order', 1)
    records = true
    for _, other in ipairs(others) do
      if other ~= presence and not record_of(other) then
        write_record(other, { order = 0, lease = '', released = '', data = '' })
      end
    end
    record.released = ''
    if data ~= '' or not was_live then record.data = data ~= 'null' and data or '' end
  end
  store(presence, location)
  end_at(presence, record, deadline, lease)
  if record then write_record(presence, record) end
end

-- The departure from the location was published, so no sweep may report it.
local function drop_at(user, location)
  local ended = newest_at(user, location)
  -- All of them first: the data of a location are those of its newest presence.
  for _, presence in ipairs(ended) do remove(presence) end
  if has_records() then follow(user, followers_of(ended), false) end
end

local function set(presence, location, deadline, due, entry, lease, data, condition)
  lease, data = lease or '', data or ''
  local known = redis.call('HMGET', meta, 'due', 'until', 'order')
  local is_covered = known[2] and tonumber(known[2]) >= tonumber(deadline)
  records = known[3] ~= false
  local lease_ends = lease ~= '' and redis.call('ZSCORE', deadlines, '\0' .. lease)
  if lease_ends and tonumber(lease_ends) <= now then return 3 end

  local own = location_of(presence)
  local was_live = own and deadline_of(presence) > now
  if condition and condition ~= '' then
    local record = was_live and record_of(presence)
    local is_of_other = record and record.lease ~= '' and record.lease ~= lease
    if is_of_other and condition ~= 'takeOver' then return 4 end
    if condition ~= 'unleased' and not (record and own == location) then return 4 end
  end

  -- The first write, after all that can end the step: a key alone would not expire.
  local is_lost = is_overdue(known[1], now)
  if not known[1] or tonumber(known[1]) > tonumber(deadline) or is_lost then
    if not entry or entry == '' then return is_lost and 2 or 0 end
    redis.call('HSET', meta, 'due', due, 'entry', entry)
  end
  if own == location and was_live then
    extend(presence, location, deadline, lease, data)
    if not is_covered then extend_expiry(deadline) end
    return 1
  end

  local user, holder = user_of(presence), holder_of(presence)
  if not own then end_other_membership(user, holder) end
  local is_single = not records and not connection_of(presence)
  local others = is_single and { own and presence or nil } or of_region(presence)
  local newest = newest_of(others)
  local left = newest and location_of(newest) or false
  local created = not is_any_live(others)
  local arrived = not is_known_at(user, location)
  local data_before, left_data = data_at(user, location), left and data_at(user, left)
  for _, other in ipairs(presences_at(user, location)) do others[#others + 1] = other end
  if own and own ~= location then unindex(presence, own) end
  put(presence, location, deadline, lease, data, was_live, others)
  if not is_covered or redis.call('PTTL', index) < 0 then extend_expiry(deadline) end

  local departed = left and left ~= location and not is_known_at(user, left) and left
  if arrived or departed then publish_arrival(presence, location, departed)
  else publish_data(user, location, data_before) end
  if departed then drop_at(user, departed)
  elseif left and left ~= location then publish_data(user, left, left_data) end
  enforce_bounds(user, presence)
  return { arrived and 1 or 0, created and 1 or 0, departed }
end

for at = done + 1, COUNT do
  local k, a = (at - 1) * KEYS_EACH, (at - 1) * ARGV_EACH
  location_texts, deadlines, index, meta, watched, history = unpack(KEYS, k + 1, k + KEYS_EACH)
  now = tonumber(ARGV[a + 1])
  local is_done, reply = pcall(set, unpack(ARGV, a + 2, a + ARGV_EACH))
  -- What Redis raises is an error to be answered already.
  if not is_done and type(reply) ~= 'table' then reply = redis.error_reply(tostring(reply)) end
  -- When a whole call is rejected so, the client connects to another master; nothing can have been written.
  if not is_done and reply.err:find('^READONLY') then return reply end
  replies[at] = reply
end
return replies
