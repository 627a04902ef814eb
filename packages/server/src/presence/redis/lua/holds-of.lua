-- Reads the live presences of a connection that belong to a lease or are to be released, in no order.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 user
--      3 connection
-- Answers {region, location, order, data, region, …}; an empty text for no data.
local found = {}
for _, presence in ipairs(has_records() and presences_of('u', ARGV[2]) or {}) do
  local record = connection_of(presence) == ARGV[3] and record_of(presence)
  local is_held = record and (record.lease ~= '' or record.released ~= '')
  local location = is_held and deadline_by(presence, record) > now and location_of(presence)
  if location then
    found[#found + 1] = region_of(presence):match('%Z+$')
    found[#found + 1] = location
    found[#found + 1] = record.order
    found[#found + 1] = record.data
  end
end
return found
