-- Whether no sweep came when the group was due. The entry that leads a sweep to the group must then have been lost: the node
-- that had the index came back empty. The margin is for clocks that differ and for sweeps that are late.
local function is_overdue(due, now)
  return due and tonumber(due) + OVERDUE_MS < tonumber(now)
end

