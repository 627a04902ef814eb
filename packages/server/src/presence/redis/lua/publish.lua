-- Publishes an event of the Store to the watchers of a group.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 event  as a text of JSON
if is_watched() then append(ARGV[2]) end
