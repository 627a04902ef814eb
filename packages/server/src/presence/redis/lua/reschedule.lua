-- Schedules claimed entries again, or removes them.
--
-- KEYS 1 due groups: see claim.lua
-- ARGV 1 retention  how long the index stays without another call, in milliseconds
--      2 entry, 3 when it is due next, or an empty text to remove it; and so on
-- The first write is for a full memory: see claim.lua.
redis.call('ZREM', KEYS[1], '')
for at = 2, #ARGV, 2 do
  if ARGV[at + 1] == '' then
    redis.call('ZREM', KEYS[1], ARGV[at])
  else
    redis.call('ZADD', KEYS[1], 'XX', ARGV[at + 1], ARGV[at])
  end
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
