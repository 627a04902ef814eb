-- Begins to watch a group, or renews the lease when it is watched already.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 until  the deadline of the lease
--      3 epoch  of a count that begins now
-- Answers {epoch, offset, checksum of the event at the offset or an empty text}: every event up to the offset has been
-- applied, and every later one is published.
if not is_watched() then
  redis.call('DEL', history)
  redis.call('HSET', watched, 'epoch', ARGV[3], 'offset', 0, 'bytes', 0, 'until', ARGV[2])
end
extend_watch(ARGV[2])
local count = redis.call('HMGET', watched, 'epoch', 'offset')
return { count[1], count[2], checksum_before(0) }
