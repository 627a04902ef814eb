-- Ends a user's presence at exactly one location, in every region.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 user
--      3 location
-- Answers whether the user was there, 1 or 0. Presences past their deadline are left to the sweep, which publishes their end.
local user, location = ARGV[2], ARGV[3]
local presences = presences_at(user, location)
if not is_any_live(presences) then return 0 end
for _, presence in ipairs(presences) do remove(presence) end
publish_event({ type = 'departed', userId = user, location = location, reason = 'absent' })
return 1
