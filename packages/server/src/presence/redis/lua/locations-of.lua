-- Reads the locations of one user for one membership, in no order; one may come several times.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 holder
-- Answers {location, order, data, location, …}: the data of the greatest order are those of a location; an empty text for none.
local found = {}
local presences = presences_of('u', ARGV[2])
local known = records_of(presences)
for _, presence in ipairs(presences) do
  local record = known[presence]
  local is_live = deadline_by(presence, record) > now
  local location = is_live and (not record or is_uncovered(presence, record)) and location_of(presence)
  if location then
    found[#found + 1] = location
    found[#found + 1] = record and record.order or 0
    found[#found + 1] = record and record.data or ''
  end
end
return found
