-- Ends all presence of some users, who are no members any more.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 …  users, at least one
local users = { unpack(ARGV, 2) }
for _, user in ipairs(users) do
  for _, presence in ipairs(listed('u', user)) do remove(presence) end
end
tell({ type = 'removed', userIds = users })
