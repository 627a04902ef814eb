-- Reads the locations of one user for one membership, in no order; one may come several times.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 holder
-- Answers {location, order, data, location, …}: the data of the greatest order are those of a location; an empty text for none.
local found = {}
for _, presence in ipairs(presences_of('u', ARGV[2])) do
  local location = location_of(presence)
  if location and is_shown(presence) then
    local record = record_of(presence)
    found[#found + 1] = location
    found[#found + 1] = record and record.order or 0
    found[#found + 1] = record and record.data or ''
  end
end
return found
