-- Extends a lease.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 lease
--      3 deadline
-- Answers {updates, presences, overdue}: how many updates it has had, how many presences belong to it, and 1 when the group is overdue
-- (see overdue.lua). The updates are -1 where there is no such lease, or it has ended.
local lease, deadline = ARGV[2], ARGV[3]
local ends = redis.call('ZSCORE', deadlines, '\0' .. lease)
if not ends or tonumber(ends) <= now then return { -1, 0, 0 } end
-- The first write is for a full memory: see claim.lua.
redis.call('HDEL', meta, '')
redis.call('ZADD', deadlines, 'GT', deadline, '\0' .. lease)
local known = redis.call('HMGET', meta, 'due', 'until')
if not known[2] or tonumber(known[2]) < tonumber(deadline) then extend_expiry(deadline) end
local updates = tonumber(redis.call('HGET', location_texts, '\0c' .. lease) or 0)
return { updates, lease_size(lease), is_overdue(known[1], now) and 1 or 0 }
