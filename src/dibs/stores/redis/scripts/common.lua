-- What the quick scripts have in common. It is put before each of them.
--
-- KEYS  1 meta
-- ARGV  1 now in micros ('' : by the server's clock)  2 the version of the gates that the caller knows
--       3 '1': this was said before, and its answer was lost
-- Reply {'busy'} (it is another's turn) | {'gates'} (look at lanes and gates again)
--
-- A quick script looks at everything before it writes anything. When it meets what only the ledger can judge it
-- replies 'slow', and nothing has happened. What a call to the server costs is mostly the call: many tasks share one
-- wherever they can.

local call = redis.call
local prefix = string.sub(KEYS[1], 1, -5)
local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
local at = string.format('%.0f', now)

local known = call('HMGET', KEYS[1], 'gates', 'version', 'number', 'seq', 'floor')
local version, number, seq = (known[2] or 0) + 1, tonumber(known[3] or 0), tonumber(known[4] or 0)

-- Why nothing can be done just now, if so.
local function hindrance()
  if call('EXISTS', prefix .. 'turn') == 1 then
    return {'busy'}
  end
  if (known[1] or '') ~= ARGV[2] then
    return {'gates'}
  end
end

local MINUTE = 60000000
local minutes = (now - 1735689600000000) / MINUTE

-- Numbers keep all their digits.
local function exact(number)
  return string.format('%.17g', number)
end

local function whole(number)
  return string.format('%.0f', number)
end

local function seconds(duration)
  return math.floor(duration * 1000000 + 0.5)
end

local function order(name)
  return prefix .. 'o:' .. name
end

-- One command on a key, with many things.
local MOST = 1000
local function each(command, key, parts)
  for i = 1, #parts, MOST do
    call(command, key, unpack(parts, i, math.min(i + MOST - 1, #parts)))
  end
end

-- Take these out of an order. When many are its first, in this order, that is said in a few words: a log of every name
-- costs more than looking.
local function remove(key, members)
  if #members == 1 then
    return call('ZREM', key, members[1])
  end
  local first = call('ZRANGE', key, 0, #members - 1)
  for i, member in ipairs(members) do
    if first[i] ~= member then
      return each('ZREM', key, members)
    end
  end
  call('ZREMRANGEBYRANK', key, 0, #members - 1)
end

-- How many tasks of a kind are in a status, until the end of the script. Those that are ready stand in their lanes.
local counted = {}
local function count(kind, status, by)
  local name = kind .. '"' .. status .. '"]'
  counted[name] = (counted[name] or 0) + by
end

-- The first write: it fails when memory is full, and then nothing is half-written. Writing costs most of all, so the
-- numbers of this namespace are written at once: for so many events, and so many new tasks.
local function begin(events, tasks)
  call('HSET', KEYS[1], 'version', whole(version), 'number', whole(number + tasks), 'seq', whole(seq + events))
end

-- The last: what happened, `types` (JSON) to each of so many `items` (JSON), by an agent or nobody.
local function finish(types, events, agent, items)
  local groups = '[[' .. types .. ',' .. at .. ',' .. agent .. ',null,' .. items .. ']]'
  call('XADD', prefix .. 'events', whole(seq + events) .. '-0', 'n', events, 'groups', groups)
  for name, by in pairs(counted) do
    if by ~= 0 then
      call('HINCRBY', prefix .. 'counts', name, by)
    end
  end
  call('PUBLISH', prefix .. 'news', whole(version))
end
