-- Sets a user present at a location until a deadline, in place of where the region had them.
--
-- KEYS, ARGV 1 and 2: see group.lua
-- ARGV 3 presence
--      4 location
--      5 deadline
--      6 due, 7 entry   the entry by which the caller has just put the group into the index of due groups, or empty texts
-- Answers 0: nothing was done, as no entry would lead a sweep to this deadline in time: register the group and come back;
--         1: nothing changed but the deadline; else {arrived, created, the location departed from or false}.
local presence, location, deadline = ARGV[3], ARGV[4], ARGV[5]
local known = redis.call('HMGET', meta, 'due', 'until')
if not known[1] or tonumber(known[1]) > tonumber(deadline) then
  if ARGV[7] == '' then return 0 end
  redis.call('HSET', meta, 'due', ARGV[6], 'entry', ARGV[7])
end
local is_kept = known[2] and tonumber(known[2]) >= tonumber(deadline)

local left = redis.call('HGET', places, presence)
local created = not left or deadline_of(presence) <= now
if left == location and not created then
  redis.call('ZADD', deadlines, deadline, presence)
  if not is_kept then keep(deadline) end
  return 1
end

local user = user_of(presence)
local arrived = not is_any_live(presences_at(user, location))
if left and left ~= location then unlist(presence, left) end
place(presence, location, deadline)
if not is_kept or redis.call('ZCARD', deadlines) == 1 then keep(deadline) end

local departed = false
if left and left ~= location then
  local others = presences_at(user, left)
  if not is_any_live(others) then
    departed = left
    -- This tells that the user is no longer there, so no sweep will.
    for _, other in ipairs(others) do remove(other) end
  end
end
if arrived or departed then
  tell({ type = 'placed', userId = user, location = location, left = departed or cjson.null })
end
return { arrived and 1 or 0, created and 1 or 0, departed }
