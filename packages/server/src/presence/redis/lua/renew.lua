-- A sign of life of somebody who watches a group.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 until  the deadline of the lease
--      3 epoch  that of the watch
-- Answers 1, or 0 where the epoch is no more.
if not is_watched() or redis.call('HGET', watched, 'epoch') ~= ARGV[3] then return 0 end
lease(ARGV[2])
mark()
return 1
