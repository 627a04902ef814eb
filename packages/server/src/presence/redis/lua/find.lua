-- Reads a part of the users present in a group: see PresentUsers of the port.
--
-- KEYS, ARGV 1: see group.lua
-- ARGV 2 limit     how many users
--      3 after     the ID after which the part starts, or an empty text
--      4 kind      `all`, `exact` or `partial`
--      5 location  the filter's; an empty text for `all`
-- Answers {offset, run, run, …}: the offset of the last event, 0 where the group is not watched, and one run for each range of the
-- index that was read. A run is {next, location, holder, holder, …} where all in it are at this location, else
-- {next, false, holder, location, holder, location, …}; it ascends by user. After a holder come NUL, order, NUL and data where the
-- presence has a record; the data of the greatest order are those of a location. `next` is the last user that was read, all of whose
-- presences in the range were, or an empty text where the range has no more.
local limit, after, kind, wanted = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
-- Of a chunk with locations the texts are read together: 128 of the longest are 1 MiB.
local CHUNK_MAX, LOCATED_CHUNK_MAX = 1000, 128
local MERGED_LOCATIONS_MAX = 16
local LISTED_LOCATIONS_MAX = 64

local wanted_pairs = kind == 'partial' and pairs_of(wanted) or {}
local known = {}
local function passes(location)
  if kind == 'all' then return true end
  if known[location] == nil then
    local has = {}
    for _, pair in ipairs(pairs_of(location)) do has[pair] = true end
    known[location] = true
    for _, pair in ipairs(wanted_pairs) do known[location] = known[location] and has[pair] or false end
  end
  return known[location]
end

local offset = is_watched() and tonumber(redis.call('HGET', watched, 'offset')) or 0

-- Reads the users whose index entries begin with `prefix`, `limit` of those that pass. Where all entries are of one location,
-- it is given and not read. One reading's bounds are divided by `runs`: a run ends before the next user when it has read its
-- part.
local function walk(prefix, shared_location, runs)
  local presences_max, bytes_max = READING_MAX_PRESENCES / runs, READING_MAX_BYTES / runs
  local run = { '', shared_location or false }
  local users, read, bytes = 0, 0, 0
  local last, found
  local from = after == '' and '[' .. prefix or '[' .. prefix .. after .. '\1'
  local chunk_max = shared_location and CHUNK_MAX or LOCATED_CHUNK_MAX
  local chunk = math.min(math.max(limit + 1, 16), chunk_max)
  while true do
    local entries = redis.call('ZRANGEBYLEX', index, from, '(' .. prefix .. '\255', 'LIMIT', 0, chunk)
    local count = #entries
    if count == 0 then return run end
    from = '(' .. entries[count]
    for at = 1, count do entries[at] = entries[at]:sub(#prefix + 1) end
    local locations = not shared_location and redis.call('HMGET', location_texts, unpack(entries))
    local ends = redis.call('ZMSCORE', deadlines, unpack(entries))
    for at = 1, count do
      local user = user_of(entries[at])
      if user ~= last and (users == limit or read >= presences_max or bytes >= bytes_max) then
        run[1] = last
        return run
      end
      last = user
      local location = shared_location or location_by(locations[at])
      local record = record_of(entries[at])
      local deadline = ends[at] and tonumber(ends[at]) or deadline_by(entries[at], record)
      read, bytes = read + 1, bytes + #(location or '') + (record and #record.data or 0)
      local is_found = location and deadline > now and (shared_location or passes(location))
      if is_found and (not record or is_uncovered(entries[at], record)) then
        if user ~= found then users, found = users + 1, user end
        local after_holder = record and string.format('\0%.0f\0%s', record.order, record.data) or ''
        run[#run + 1] = holder_of(entries[at]) .. after_holder
        if not shared_location then run[#run + 1] = location end
      end
    end
    if count < chunk then return run end
    chunk = chunk_max
  end
end

-- The pair that begins the fewest entries of a kind, and how many these are.
local function rarest(entry_kind)
  local found, fewest
  for _, pair in ipairs(wanted_pairs) do
    local prefix = entry_kind .. pair_key(pair)
    local count = redis.call('ZLEXCOUNT', index, '[' .. prefix, '(' .. prefix .. '\255')
    if not fewest or count < fewest then found, fewest = prefix, count end
  end
  return found, fewest
end

-- The locations that have all pairs; nil where they are too many to compare, or to merge.
local function passing_locations()
  local prefix, count = rarest('q')
  if count > LISTED_LOCATIONS_MAX then return nil end
  local found = {}
  for _, entry in ipairs(redis.call('ZRANGEBYLEX', index, '[' .. prefix, '(' .. prefix .. '\255')) do
    local presence = presence_with(entry:sub(#prefix + 1))
    local location = presence and location_of(presence)
    if location and passes(location) then found[#found + 1] = location end
  end
  return #found <= MERGED_LOCATIONS_MAX and found or nil
end

local function walk_location(location, runs)
  return walk('l' .. location_key(location), location, runs)
end

local answer = { offset }
if kind == 'all' then
  answer[2] = walk('u', nil, 1)
elseif kind == 'exact' then
  answer[2] = walk_location(wanted, 1)
elseif #wanted_pairs == 1 then
  answer[2] = walk((rarest('p')), nil, 1)
else
  -- Many may have one pair and many the other, but few both.
  local found = passing_locations()
  if found then
    for _, location in ipairs(found) do
      answer[#answer + 1] = walk_location(location, #found)
    end
  else
    answer[2] = walk((rarest('p')), nil, 1)
  end
end
return answer
