-- Ends all presence of users who are no longer members, as many of them as one step may.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 limit  the step ends with the user whose presences make it so many
--      3 …      users, at least one
-- Answers how many of the users were removed.
local limit = tonumber(ARGV[2])
local users, removed = {}, 0
for at = 3, #ARGV do
  local presences = presences_of('u', ARGV[at])
  for _, presence in ipairs(presences) do remove(presence) end
  users[#users + 1] = ARGV[at]
  removed = removed + #presences
  if removed >= limit then break end
end
publish_event({ type = 'usersRemoved', userIds = users })
return #users
