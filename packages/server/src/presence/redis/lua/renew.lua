-- Renews the lease of a watch, and reads the position of the group.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 until  the deadline of the lease
--      3 epoch  that of the watch
-- Answers {offset, overdue, checksum}: the offset of the last event, or -1 when the epoch has ended; 1 when the group is
-- overdue (see overdue.lua); and the checksum of that event.
if not is_watched() or redis.call('HGET', watched, 'epoch') ~= ARGV[3] then return { -1, 0, '' } end
extend_watch(ARGV[2])
local overdue = is_overdue(redis.call('HGET', meta, 'due'), now) and 1 or 0
return { tonumber(redis.call('HGET', watched, 'offset')), overdue, checksum_before(0) }
