-- Begins to watch a group, or goes on where somebody does already.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 until  the deadline of the lease
--      3 epoch  where a count has to begin
-- Answers {epoch, offset}: all that happened up to it can be read, and all that comes after it is published.
if not is_watched() then
  redis.call('DEL', history)
  redis.call('HSET', watched, 'epoch', ARGV[3], 'offset', 0, 'until', ARGV[2])
end
lease(ARGV[2])
mark()
return redis.call('HMGET', watched, 'epoch', 'offset')
