-- Publishes an event of the Store to the watchers of a group.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 event  as a text of JSON
--      3 upTo   a position in the record of changes, or an empty text
if not is_watched() then return end
if ARGV[3] ~= '' then
  if tonumber(redis.call('HGET', watched, 'recorded') or 0) >= tonumber(ARGV[3]) then return end
  redis.call('HSET', watched, 'recorded', ARGV[3])
end
append(ARGV[2])
