-- Sets users present, each at a location until a deadline; it replaces the location of the region. Each update is a step of
-- its own and fails alone.
--
-- KEYS      for each, those of group.lua; all in one slot
-- ARGV      for each, those of group.lua, then
--      2 presence
--      3 location
--      4 deadline
--      5 due, 6 entry   of the entry that the caller has just added to the index of due groups, if it has
-- Answers for each 0: nothing was done, because no entry of the index is due in time: register the group and call again;
--         2: the same, with an entry that is due now, because the group's entry was lost; 1: only the deadline changed;
--         else {arrived, created, the location departed from or false}.

-- Ends presences of the user other than `latest`, the earliest deadline first, while the user has more than the bounds
-- allow. So few that they cannot exceed a bound are only counted; the locations of more are read, which are at most one
-- more than the bounds allow.
local function enforce_bounds(user, latest)
  local count = redis.call('ZLEXCOUNT', index, '[u' .. user .. '\0', '(u' .. user .. '\1')
  if count * LOCATION_MAX_BYTES <= LOCATIONS_MAX_BYTES then return end
  local presences = presences_of('u', user)
  local locations = redis.call('HMGET', location_texts, unpack(presences))
  local bytes = 0
  for _, location in ipairs(locations) do bytes = bytes + #location end
  if count <= LOCATIONS_MAX and bytes <= LOCATIONS_MAX_BYTES then return end

  local ends, earliest = {}, {}
  for at, deadline in ipairs(redis.call('ZMSCORE', deadlines, unpack(presences))) do
    ends[at] = tonumber(deadline)
    if presences[at] ~= latest then earliest[#earliest + 1] = at end
  end
  table.sort(earliest, function(a, b) return ends[a] < ends[b] end)
  for _, at in ipairs(earliest) do
    if count <= LOCATIONS_MAX and bytes <= LOCATIONS_MAX_BYTES then return end
    leave(presences[at], ends[at] <= now and 'expired' or 'removed')
    count, bytes = count - 1, bytes - #locations[at]
  end
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

local function set(presence, location, deadline, due, entry)
  local known = redis.call('HMGET', meta, 'due', 'until')
  local is_lost = is_overdue(known[1], now)
  if not known[1] or tonumber(known[1]) > tonumber(deadline) or is_lost then
    if not entry then return is_lost and 2 or 0 end
    redis.call('HSET', meta, 'due', due, 'entry', entry)
  end
  local is_covered = known[2] and tonumber(known[2]) >= tonumber(deadline)

  local left = redis.call('HGET', location_texts, presence)
  local created = not left or deadline_of(presence) <= now
  if left == location and not created then
    redis.call('ZADD', deadlines, deadline, presence)
    if not is_covered then extend_expiry(deadline) end
    return 1
  end

  local user, holder = user_of(presence), holder_of(presence)
  if not left then end_other_membership(user, holder) end
  local arrived = not is_any_live(presences_at(user, location))
  if left and left ~= location then unindex(presence, left) end
  store(presence, location, deadline)
  if not is_covered or redis.call('ZCARD', deadlines) == 1 then extend_expiry(deadline) end

  local departed = false
  if left and left ~= location then
    local others = presences_at(user, left)
    if not is_any_live(others) then
      departed = left
      -- The reply reports that the user is no longer there, so no sweep reports it.
      for _, other in ipairs(others) do remove(other) end
    end
  end
  if arrived or departed then
    local incarnation = tonumber(holder:sub(#user + 2))
    publish_event({
      type = 'arrived', userId = user, incarnation = incarnation, location = location, from = departed or cjson.null,
    })
  end
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
