-- What set.lua begins with, before group.lua: most of what comes is a refresh, which needs nothing of that.
--
-- KEYS, ARGV: see set.lua
-- Answers 1 where the presence is at this location already and everything that leads to it holds; else goes on.
do
  local deadline = tonumber(ARGV[5])
  local known = redis.call('HMGET', KEYS[4], 'due', 'until')
  local is_entered = known[1] and tonumber(known[1]) <= deadline
  local is_kept = known[2] and tonumber(known[2]) >= deadline
  if is_entered and is_kept and redis.call('HGET', KEYS[1], ARGV[3]) == ARGV[4] then
    local ends = redis.call('ZSCORE', KEYS[2], ARGV[3])
    if ends and tonumber(ends) > tonumber(ARGV[2]) then
      redis.call('ZADD', KEYS[2], ARGV[5], ARGV[3])
      return 1
    end
  end
end
