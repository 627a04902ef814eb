-- After group-history.lua, in every script on a group: the events that changes of presences cause, each in the history and published.

local function publish_event(event)
  if not is_watched() then return end
  event.now = now
  append(cjson.encode(event))
end

-- Publishes that the user of a presence has arrived at its location, from a location or from nowhere (false).
local function publish_arrival(presence, location, from)
  if not is_watched() then return end
  local user, holder = user_of(presence), holder_of(presence)
  local data = data_at(user, location)
  publish_event({
    type = 'arrived', userId = user, incarnation = tonumber(holder:sub(#user + 2)), location = location,
    from = from or cjson.null, data = data ~= '' and data or nil,
  })
end

-- Publishes the data of a location, unless they are those before.
local function publish_data(user, location, before)
  local data = data_at(user, location)
  if data == before then return end
  publish_event({ type = 'data', userId = user, location = location, data = data ~= '' and data or cjson.null })
end

-- The newest live presences of the regions of these removed ones. Those whose deadline passed are removed: watchers do not know
-- their locations. Find all of them before an event: the data of a location are those of a presence that stays.
local function followers_of(removed)
  local followers = {}
  for _, presence in ipairs(removed) do
    local live = {}
    for _, other in ipairs(of_region(presence)) do
      if deadline_of(other) > now then live[#live + 1] = other else remove(other) end
    end
    followers[#followers + 1] = newest_of(live)
  end
  return followers
end

-- Publishes that a user is at the locations of these presences, each now the newest of its region. The first arrival is from `from`,
-- or from nowhere (false). Answers `from` where there was none, else false.
local function follow(user, followers, from)
  local is_unknown = {}
  for _, follower in ipairs(followers) do is_unknown[follower] = true end
  for _, follower in ipairs(followers) do
    local location, others = location_of(follower), {}
    -- Only presences that watchers know: the other followers are not published yet.
    for _, other in ipairs(newest_at(user, location)) do
      if not is_unknown[other] then others[#others + 1] = other end
    end
    if #others > 0 and not from then
      local _, record = newest_of(others)
      publish_data(user, location, record and record.data or '')
    else
      publish_arrival(follower, location, from)
    end
    is_unknown[follower] = nil
    from = false
  end
  return from
end

-- Ends presences of a user at one location, and publishes what follows: that the user left it, or is at the location of the next
-- newest presence of a region instead. Answers the location that the user left for no other one, or false.
local function finish(presences, reason)
  local user, left = user_of(presences[1]), location_of(presences[1])
  if not has_records() then
    for _, presence in ipairs(presences) do remove(presence) end
    if not left or #presences_at(user, left) > 0 then return false end
    publish_event({ type = 'departed', userId = user, location = left, reason = reason })
    return left
  end
  if not left then return false end

  local newest, elsewhere = newest_among(presences), {}
  local data = #newest > 0 and data_at(user, left)
  for _, presence in ipairs(presences) do remove(presence) end
  if #newest == 0 then return false end
  for _, follower in ipairs(followers_of(newest)) do
    if location_of(follower) ~= left then elsewhere[#elsewhere + 1] = follower end
  end
  local remaining = newest_at(user, left)
  local from = follow(user, elsewhere, #remaining == 0 and left)
  if #remaining > 0 then publish_data(user, left, data) end
  if from then publish_event({ type = 'departed', userId = user, location = left, reason = reason }) end
  return from
end

-- Ends a presence: see finish.
local function leave(presence, reason)
  return finish({ presence }, reason)
end
