-- After group.lua, in every script on a group: whether the group is watched, and the history of its events.

-- Channels are the same in every database of a server.
local function publish(message)
  redis.call(PUBLISH, DB .. ':' .. watched, message)
end

-- Whether the group is watched. A lease that ran out ends the count: subscribers get an offset of -1.
local function is_watched()
  local known = redis.call('HMGET', watched, 'until', 'epoch')
  if not known[1] then return false end
  if tonumber(known[1]) > now then return true end
  redis.call('DEL', watched, history)
  publish(known[2] .. ' -1 ')
  return false
end

-- Two events that ever had one offset have different checksums, because each has the time of its caller.
local function checksum(event)
  return redis.sha1hex(event):sub(1, CHECKSUM_LENGTH)
end

-- Numbers, stores and publishes an event, a text of JSON. The caller has checked that the group is watched.
local function append(event)
  local offset = redis.call('HINCRBY', watched, 'offset', 1)
  local length = redis.call('RPUSH', history, event)
  if length == 1 then
    redis.call('PEXPIRE', history, HISTORY_MS)
    redis.call('HSET', watched, 'bytes', 0)
    redis.call('HDEL', watched, 'before')
  end
  local bytes = redis.call('HINCRBY', watched, 'bytes', #event)
  local removed
  while length > 1 and (length > HISTORY_LENGTH or bytes > HISTORY_MAX_BYTES) do
    removed = redis.call('LPOP', history)
    bytes = redis.call('HINCRBY', watched, 'bytes', -#removed)
    length = length - 1
  end
  if removed then redis.call('HSET', watched, 'before', checksum(removed)) end
  publish(redis.call('HGET', watched, 'epoch') .. ' ' .. offset .. ' ' .. event)
end

-- The checksum of the event that `count` events came after; an empty text where it is not known.
local function checksum_before(count)
  if count > 0 and count == redis.call('LLEN', history) then return redis.call('HGET', watched, 'before') or '' end
  local event = redis.call('LINDEX', history, -count - 1)
  return event and checksum(event) or ''
end

-- Extends the lease of the watch. The expiry is first, so that watches go on where memory is full: see claim.lua.
local function extend_watch(until_time)
  redis.call('PEXPIRE', watched, HISTORY_MS)
  redis.call('PEXPIRE', history, HISTORY_MS)
  if tonumber(redis.call('HGET', watched, 'until')) < tonumber(until_time) then
    redis.call('HSET', watched, 'until', until_time)
  end
end
