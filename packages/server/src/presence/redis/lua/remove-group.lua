-- Ends all presence in a group that was removed. Its entry in the index of due groups stays until the next sweep.
--
-- KEYS, ARGV 1: see group.lua
redis.call('UNLINK', location_texts, deadlines, index)
publish_event({ type = 'groupRemoved' })
