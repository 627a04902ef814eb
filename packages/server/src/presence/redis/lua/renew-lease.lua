-- Extends a lease.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 lease
--      3 deadline
-- Answers {how many presences belong to it, overdue}: 0 where there is none, or it has ended; 1 when the group is overdue (see
-- overdue.lua).
local lease, deadline = ARGV[2], ARGV[3]
local ends = redis.call('ZSCORE', deadlines, '\0' .. lease)
if not ends or tonumber(ends) <= now then return { 0, 0 } end
redis.call('ZADD', deadlines, 'GT', deadline, '\0' .. lease)
local known = redis.call('HMGET', meta, 'due', 'until')
if not known[2] or tonumber(known[2]) < tonumber(deadline) then extend_expiry(deadline) end
return { lease_size(lease), is_overdue(known[1], now) and 1 or 0 }
