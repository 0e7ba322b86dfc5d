-- What the quick scripts have in common. It is put before each of them.
--
-- KEYS  1 meta
-- ARGV  1 now in micros ('' : by the server's clock)  2 the version of the gates that the caller knows
--       3 the name of this write
-- Reply {'done', when, what was taken} (this very write was committed before) | {'busy'} (it is another's turn)
--       | {'gates'} (look at lanes and gates again)
--
-- A quick script looks at everything before it writes anything. When it meets what only the ledger can judge it
-- replies 'slow', and nothing has happened. What a call to the server costs is mostly the call: many tasks share one
-- wherever they can.

local prefix = string.sub(KEYS[1], 1, -5)
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local at = string.format('%.0f', now)

-- First of all: who asks again after an answer was lost must not be told anything else.
local done = redis.call('ZSCORE', prefix .. 'done', ARGV[3])
if done then
  return {'done', done, redis.call('HGET', prefix .. 'taken', ARGV[3])}
end
if redis.call('EXISTS', prefix .. 'turn') == 1 then
  return {'busy'}
end
if (redis.call('HGET', KEYS[1], 'gates') or '') ~= ARGV[2] then
  return {'gates'}
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

-- The dag that a standalone task is alone in.
local function dag_of(id)
  return 'dag_' .. (string.sub(id, 1, 5) == 'task_' and string.sub(id, 6) or id)
end

-- One command on a key, with many things.
local MOST = 1000
local function each(command, key, parts)
  for i = 1, #parts, MOST do
    redis.call(command, key, unpack(parts, i, math.min(i + MOST - 1, #parts)))
  end
end

local function how_many_exist(keys)
  local found = 0
  for i = 1, #keys, MOST do
    found = found + redis.call('EXISTS', unpack(keys, i, math.min(i + MOST - 1, #keys)))
  end
  return found
end

-- Things to be put into orders, or taken out, with one command for each order.
local function gathered()
  local keys = {}
  local function gather(key, ...)
    local parts = keys[key]
    if not parts then
      parts = {}
      keys[key] = parts
    end
    for i = 1, select('#', ...) do
      parts[#parts + 1] = (select(i, ...))
    end
  end
  return keys, gather
end

-- How many tasks of a kind are in a status, until the end of the script.
local counted = {}
local function count(kind, status, by)
  local name = kind .. '"' .. status .. '"]'
  counted[name] = (counted[name] or 0) + by
end

-- The first write: it fails when memory is full, and then nothing is half-written.
local function begin()
  redis.call('HINCRBY', KEYS[1], 'version', 1)
  redis.call('ZADD', prefix .. 'done', at, ARGV[3])
  local old = redis.call('ZRANGEBYSCORE', prefix .. 'done', '-inf', whole(now - MINUTE), 'LIMIT', 0, 10)
  if #old > 0 then
    redis.call('ZREM', prefix .. 'done', unpack(old))
    redis.call('HDEL', prefix .. 'taken', unpack(old))
  end
end

-- The last: what happened, `types` (JSON) to each of so many `items` (JSON), by an agent or nobody.
local function finish(types, kinds, agent, items, many)
  local seq = redis.call('HINCRBY', KEYS[1], 'seq', kinds * many)
  local groups = '[[' .. types .. ',' .. at .. ',' .. agent .. ',null,' .. items .. ']]'
  redis.call('XADD', prefix .. 'events', whole(seq) .. '-0', 'n', kinds * many, 'groups', groups)
  for name, by in pairs(counted) do
    if by ~= 0 then
      redis.call('HINCRBY', prefix .. 'counts', name, by)
    end
  end
  redis.call('PUBLISH', prefix .. 'news', '')
end
