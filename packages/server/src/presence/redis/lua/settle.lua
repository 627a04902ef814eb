-- Gives entries back that were claimed.
--
-- KEYS 1 due groups: see claim.lua
-- ARGV 1 kept  how long the index is to be there without another call, in milliseconds
--      2 entry, 3 when it is to be looked at next, or an empty text where it is to go; and so on
for at = 2, #ARGV, 2 do
  if ARGV[at + 1] == '' then
    redis.call('ZREM', KEYS[1], ARGV[at])
  else
    redis.call('ZADD', KEYS[1], 'XX', ARGV[at + 1], ARGV[at])
  end
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
