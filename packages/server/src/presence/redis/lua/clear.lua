-- Ends a user's presence at exactly one location, in every region.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 user
--      3 location
-- Answers whether the user was there, 1 or 0. What ended by its deadline is left to the sweep, which says so.
local user, location = ARGV[2], ARGV[3]
local there = presences_at(user, location)
if not is_any_live(there) then return 0 end
for _, presence in ipairs(there) do remove(presence) end
tell({ type = 'left', userId = user, location = location, reason = 'absent' })
return 1
