-- Tells those who watch a group what happened elsewhere.
--
-- KEYS, ARGV 1 and 2: see group.lua
-- ARGV 3 event  as a text of JSON
if is_watched() then append(ARGV[3]) end
