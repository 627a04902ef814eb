-- Reads the events after a position.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 epoch
--      3 offset
--      4 checksum  of the event at the offset; an empty text where the reader knows none
-- Answers the events, the oldest first, or 0 when some of them are dropped, or when another event is at the offset: the engine
-- has lost what the reader knows.
local count = redis.call('HMGET', watched, 'epoch', 'offset')
if count[1] ~= ARGV[2] then return 0 end
local missed = tonumber(count[2]) - tonumber(ARGV[3])
if missed < 0 or missed > redis.call('LLEN', history) then return 0 end
if ARGV[4] ~= '' and checksum_before(missed) ~= ARGV[4] then return 0 end
if missed == 0 then return {} end
return redis.call('LRANGE', history, -missed, -1)
