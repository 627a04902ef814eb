-- Reads a page of the users present in a group.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 limit     how many users
--      3 after     the ID after which the page starts, or an empty text
--      4 kind      `all`, `exact` or `partial`
--      5 location  the filter's; an empty text for `all`
-- Answers {offset, user, location, user, location, …}: the offset of the last event, 0 where nobody watches, and one pair
-- for each presence. In these are all of the page's users with all of their locations that pass, in one or several runs
-- that ascend by user; perhaps also others who come after them.
local limit, after, kind, wanted = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local CHUNK_MAX = 1000
local MERGED_PLACES_MAX = 16
local LISTED_PLACES_MAX = 64

local wanted_pairs = kind == 'partial' and pairs_of(wanted) or {}
local known = {}
local function passes(location)
  if kind == 'all' then return true end
  if kind == 'exact' then return location == wanted end
  if known[location] == nil then
    local has = {}
    for _, pair in ipairs(pairs_of(location)) do has[pair] = true end
    known[location] = true
    for _, pair in ipairs(wanted_pairs) do known[location] = known[location] and has[pair] or false end
  end
  return known[location]
end

local offset = is_watched() and tonumber(redis.call('HGET', watched, 'offset')) or 0
local rows = { offset }

-- Reads the users whose index entries begin so, `limit` of those who pass.
local function walk(prefix)
  local users, last = 0, nil
  local from = after == '' and '[' .. prefix or '[' .. prefix .. after .. '\1'
  local chunk = math.min(math.max(limit + 1, 16), CHUNK_MAX)
  while true do
    local entries = redis.call('ZRANGEBYLEX', index, from, '(' .. prefix .. '\255', 'LIMIT', 0, chunk)
    local read = #entries
    if read == 0 then return end
    from = '(' .. entries[read]
    for at = 1, read do entries[at] = entries[at]:sub(#prefix + 1) end
    local locations = redis.call('HMGET', places, unpack(entries))
    local ends = redis.call('ZMSCORE', deadlines, unpack(entries))
    for at = 1, read do
      local location = locations[at]
      if location and ends[at] and tonumber(ends[at]) > now and passes(location) then
        local user = user_of(entries[at])
        if user ~= last then
          if users == limit then return end
          users, last = users + 1, user
        end
        rows[#rows + 1] = user
        rows[#rows + 1] = location
      end
    end
    if read < chunk then return end
    chunk = CHUNK_MAX
  end
end

-- The pair that begins the fewest entries of a kind, and how many these are.
local function rarest(entry_kind)
  local found, fewest
  for _, pair in ipairs(wanted_pairs) do
    local prefix = prefix_of(entry_kind, pair)
    local count = redis.call('ZLEXCOUNT', index, '[' .. prefix, '(' .. prefix .. '\255')
    if not fewest or count < fewest then found, fewest = prefix, count end
  end
  return found, fewest
end

-- The places that have all pairs; nil where they are too many to look at, or to merge.
local function passing_places()
  local prefix, count = rarest('q')
  if count > LISTED_PLACES_MAX then return nil end
  local found = {}
  for _, entry in ipairs(redis.call('ZRANGEBYLEX', index, '[' .. prefix, '(' .. prefix .. '\255')) do
    local location = entry:sub(#prefix + 1)
    if passes(location) then found[#found + 1] = location end
  end
  return #found <= MERGED_PLACES_MAX and found or nil
end

if kind == 'all' then
  walk('u')
elseif kind == 'exact' then
  walk(prefix_of('l', wanted))
elseif #wanted_pairs == 1 then
  walk((rarest('p')))
else
  -- Many may have one pair and many the other, but few both.
  local found = passing_places()
  if found then
    for _, location in ipairs(found) do walk(prefix_of('l', location)) end
  else
    walk((rarest('p')))
  end
end
return rows
