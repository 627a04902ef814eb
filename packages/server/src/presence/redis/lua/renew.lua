-- A sign of life of somebody who watches a group.
--
-- KEYS, ARGV 1 and 2: see group.lua
-- ARGV 3 until  the deadline of the lease
--      4 epoch  that of the watch
-- Answers 1, or 0 where the epoch is no more.
if not is_watched() or redis.call('HGET', watched, 'epoch') ~= ARGV[4] then return 0 end
lease(ARGV[3])
mark()
return 1
