-- Schedules claimed entries again, or removes them. Another sweep may have claimed them since, where this one took longer than
-- its claim or the clocks differ: an entry that the other one has scheduled or claimed is not removed.
--
-- KEYS 1 due groups: see claim.lua
-- ARGV 1 retention  how long the index stays without another call, in milliseconds
--      2 until  when the claimed entries were due again
--      3 entry, 4 when it is due next, or an empty text to remove it; and so on
-- Answers the entries that were to be scheduled again and are gone: another sweep has removed them.
-- The first write is for a full memory: see claim.lua.
redis.call('ZREM', KEYS[1], '')
local gone = {}
for at = 3, #ARGV, 2 do
  local entry, due = ARGV[at], ARGV[at + 1]
  local score = redis.call('ZSCORE', KEYS[1], entry)
  if due == '' then
    if score and tonumber(score) == tonumber(ARGV[2]) then redis.call('ZREM', KEYS[1], entry) end
  elseif score then
    redis.call('ZADD', KEYS[1], due, entry)
  else
    gone[#gone + 1] = entry
  end
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return gone
