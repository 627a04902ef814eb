-- Adds a member to an index of groups, or raises its score.
--
-- KEYS 1 the index: a sorted set
-- ARGV 1 score
--      2 member
--      3 retention  how long the index stays without another call, in milliseconds
--      4 before     members of a lower score are removed
redis.call('ZADD', KEYS[1], 'GT', ARGV[1], ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. ARGV[4])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
