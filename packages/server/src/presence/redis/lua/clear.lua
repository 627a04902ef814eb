-- Ends a user's presences at exactly one location, in every region.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 user
--      3 location
--      4 connection  that of the presences to end; an empty text for all of them
-- Answers whether one of them was live, 1 or 0. Presences past their deadline are left to the sweep, which publishes their end.
local user, location, connection = ARGV[2], ARGV[3], ARGV[4]
local presences = presences_at(user, location)
if connection ~= '' then
  local own = {}
  for _, presence in ipairs(presences) do
    if connection_of(presence) == connection then own[#own + 1] = presence end
  end
  presences = own
end
if not is_any_live(presences) then return 0 end
finish(presences, 'absent')
return 1
