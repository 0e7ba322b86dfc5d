-- What the quick scripts have in common. It is put before each of them.
--
-- KEYS  1 meta
-- ARGV  1 now in micros ('' : by the server's clock)  2 the version of the gates that the caller knows
--       3 the name of this write ('' : it may be repeated)
-- Reply {'busy'} (it is another's turn) | {'gates'} (look at lanes and gates again)
--       | {'done', what was taken} (this very write was committed before)
--
-- A quick script looks at everything before it writes anything. When it meets what only the ledger can judge it
-- replies 'slow', and nothing has happened.

local prefix = string.sub(KEYS[1], 1, -5)
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local at = string.format('%.0f', now)

if redis.call('EXISTS', prefix .. 'turn') == 1 then
  return {'busy'}
end
if ARGV[3] ~= '' and redis.call('ZSCORE', prefix .. 'done', ARGV[3]) then
  return {'done', redis.call('HGET', prefix .. 'taken', ARGV[3])}
end
if (redis.call('HGET', KEYS[1], 'gates') or '') ~= ARGV[2] then
  return {'gates'}
end

local EPOCH = 1735689600000000
local MINUTE = 60000000

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

local function task(id)
  return prefix .. 't:' .. id
end

-- A task in an order: those of equal score are in the order of insertion.
local function member(number, lane, id)
  return string.format('%015d:%s:%s', number, lane, id)
end

-- How many tasks of a kind are in a status, until the end of the script.
local counted = {}
local function count(kind, status, by)
  local name = kind .. '"' .. status .. '"]'
  counted[name] = (counted[name] or 0) + by
end

local told = 0
local seq
local function tell(...)
  if not seq then
    seq = tonumber(redis.call('HGET', KEYS[1], 'seq') or '0')
  end
  told = told + 1
  redis.call('XADD', prefix .. 'events', whole(seq + told) .. '-0', 'type', ...)
end

-- The first write: it fails when memory is full, and then nothing is half-written.
local function begin()
  redis.call('HINCRBY', KEYS[1], 'version', 1)
  if ARGV[3] ~= '' then
    redis.call('ZADD', prefix .. 'done', at, ARGV[3])
    local old = redis.call('ZRANGEBYSCORE', prefix .. 'done', '-inf', whole(now - 60000000), 'LIMIT', 0, 10)
    if #old > 0 then
      redis.call('ZREM', prefix .. 'done', unpack(old))
      redis.call('HDEL', prefix .. 'taken', unpack(old))
    end
  end
end

local function finish()
  if told > 0 then
    redis.call('HSET', KEYS[1], 'seq', whole(seq + told))
  end
  for name, by in pairs(counted) do
    if by ~= 0 then
      redis.call('HINCRBY', prefix .. 'counts', name, by)
    end
  end
  redis.call('PUBLISH', prefix .. 'news', '')
end
