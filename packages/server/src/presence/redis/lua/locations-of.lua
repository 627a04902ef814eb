-- Reads the locations of one user for one membership, in no order; one may come several times.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 holder
local found = {}
for _, presence in ipairs(presences_of('u', ARGV[2])) do
  local location = redis.call('HGET', location_texts, presence)
  if location and deadline_of(presence) > now then found[#found + 1] = location end
end
return found
