-- Whether no sweep came when the group was due. Its entry in the index was then lost: the node of the index came back empty.
-- The margin is for clocks that differ and for late sweeps.
local function is_overdue(due, now)
  return due and tonumber(due) + OVERDUE_MS < tonumber(now)
end

