-- Reads a page of the users present in a group, in ascending order of ID.
--
-- KEYS, ARGV 1 and 2: see group.lua
-- ARGV 3 limit     how many users
--      4 after     the ID after which the page starts, or an empty text
--      5 kind      `all`, `exact` or `partial`
--      6 location  the filter's; an empty text for `all`
-- Answers {offset, user, location, user, location, …}: the offset of the last event, 0 where nobody watches, and one pair
-- for each presence, those of a user next to each other; a location may come several times.
local limit, after, kind, wanted = tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local CHUNK_MAX = 1000

-- Every index entry is of a place that passes, but for those of `partial` with several pairs: of these, the rarest is
-- walked.
local function walked_prefix()
  if kind == 'all' then return 'u' end
  if kind == 'exact' then return prefix_of('l', wanted) end
  local rarest, fewest
  for _, pair in ipairs(pairs_of(wanted)) do
    local prefix = prefix_of('p', pair)
    local count = redis.call('ZLEXCOUNT', index, '[' .. prefix, '(' .. prefix .. '\255')
    if not fewest or count < fewest then rarest, fewest = prefix, count end
  end
  return rarest
end

local function has_all_pairs(location)
  local has = {}
  for _, pair in ipairs(pairs_of(location)) do has[pair] = true end
  for _, pair in ipairs(pairs_of(wanted)) do
    if not has[pair] then return false end
  end
  return true
end

local known = {}
local function passes(location)
  if kind == 'all' then return true end
  if kind == 'exact' then return location == wanted end
  if known[location] == nil then known[location] = has_all_pairs(location) end
  return known[location]
end

local offset = 0
if is_watched() then offset = tonumber(redis.call('HGET', watched, 'offset')) end
local rows, users, last = { offset }, 0, nil
local prefix = walked_prefix()
local from = after == '' and '[' .. prefix or '[' .. prefix .. after .. '\1'
local chunk = math.min(math.max(limit + 1, 16), CHUNK_MAX)

while true do
  local entries = redis.call('ZRANGEBYLEX', index, from, '(' .. prefix .. '\255', 'LIMIT', 0, chunk)
  if #entries == 0 then return rows end
  from = '(' .. entries[#entries]
  local read = #entries
  for at = 1, read do entries[at] = entries[at]:sub(#prefix + 1) end
  local locations = redis.call('HMGET', places, unpack(entries))
  local ends = redis.call('ZMSCORE', deadlines, unpack(entries))
  for at = 1, read do
    local location = locations[at]
    if location and ends[at] and tonumber(ends[at]) > now and passes(location) then
      local user = user_of(entries[at])
      if user ~= last then
        if users == limit then return rows end
        users, last = users + 1, user
      end
      rows[#rows + 1] = user
      rows[#rows + 1] = location
    end
  end
  if read < chunk then return rows end
  chunk = CHUNK_MAX
end
