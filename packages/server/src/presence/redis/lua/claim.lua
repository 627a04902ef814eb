-- Claims due entries for a while. If the claiming process dies, they are due again after it.
--
-- KEYS 1 due groups: a sorted set of entries by when they are due
-- ARGV 1 now    or `+inf` for all entries
--      2 until  when they are due again
--      3 limit  or -1 for none
-- Answers the entries, the earliest first.
--
-- Where its memory is full, Redis rejects a script whose first write may need some. A first write that never does lets those after it
-- pass: what has expired must be removed then, because that makes memory free.
local entries = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
if #entries > 0 then redis.call('ZREM', KEYS[1], '') end
for _, entry in ipairs(entries) do redis.call('ZADD', KEYS[1], ARGV[2], entry) end
return entries
