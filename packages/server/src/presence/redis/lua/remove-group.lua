-- Ends all presence in a group, which is no more. What leads a sweep to it stays until that sweep.
--
-- KEYS, ARGV 1: see group.lua
redis.call('UNLINK', places, deadlines, index)
tell({ type = 'gone' })
