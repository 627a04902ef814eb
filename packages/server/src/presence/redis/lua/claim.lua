-- Takes entries that are due out of the hands of others for a while: whoever dies with them leaves them to the next.
--
-- KEYS 1 due groups: a sorted set of entries by when they are to be looked at
-- ARGV 1 now
--      2 until  when they are due again
--      3 limit
-- Answers the entries, the earliest first.
local entries = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
for _, entry in ipairs(entries) do redis.call('ZADD', KEYS[1], ARGV[2], entry) end
return entries
