-- Begins to watch a group, or goes on where somebody does already.
--
-- KEYS, ARGV 1 and 2: see group.lua
-- ARGV 3 until  the deadline of the lease
--      4 epoch  where a count has to begin
-- Answers {epoch, offset}: all that happened up to it can be read, and all that comes after it is published.
if not is_watched() then
  redis.call('DEL', history)
  redis.call('HSET', watched, 'epoch', ARGV[4], 'offset', 0, 'until', ARGV[3])
end
lease(ARGV[3])
mark()
return redis.call('HMGET', watched, 'epoch', 'offset')
