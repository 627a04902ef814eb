-- Renews the lease of a watch, and says where the group is.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 until  the deadline of the lease
--      3 epoch  that of the watch
-- Answers {offset, overdue, checksum}: the offset of the last event, or -1 where the epoch is no more; 1 where no sweep came
-- when the group was due, so that its entry in the index of due groups must have been lost; and the checksum of that event.
if not is_watched() or redis.call('HGET', watched, 'epoch') ~= ARGV[3] then return { -1, 0, '' } end
lease(ARGV[2])
local overdue = is_overdue(redis.call('HGET', meta, 'due'), now) and 1 or 0
return { tonumber(redis.call('HGET', watched, 'offset')), overdue, checksum_of(-1) }
