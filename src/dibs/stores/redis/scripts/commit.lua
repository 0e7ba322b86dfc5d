-- Write what a step did, if nothing else was committed since it looked.
--
-- KEYS  1 meta  2 turn  3 done  4 taken
-- ARGV  1 the version it saw ('' : none)  2 who writes  3 the name of this write  4 now, in micros
--       5 the channel of news  6… commands, as MessagePack: an array of arrays each
-- Reply 'ok' | 'changed' (look again) | 'busy' (it is another's turn)
local version = redis.call('HGET', KEYS[1], 'version') or ''
if redis.call('ZSCORE', KEYS[3], ARGV[3]) then
  return 'ok'
end
local turn = redis.call('GET', KEYS[2])
if turn and turn ~= ARGV[2] then
  return 'busy'
end
if version ~= ARGV[1] then
  return 'changed'
end
-- First what fails when memory is full: then nothing is half-written.
local news = redis.call('HINCRBY', KEYS[1], 'version', 1)
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[3])
local old = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', string.format('%.0f', ARGV[4] - 60000000), 'LIMIT', 0, 10)
if #old > 0 then
  redis.call('ZREM', KEYS[3], unpack(old))
  redis.call('HDEL', KEYS[4], unpack(old))
end
for i = 6, #ARGV do
  for _, command in ipairs(cmsgpack.unpack(ARGV[i])) do
    redis.call(unpack(command))
  end
end
if turn then
  redis.call('DEL', KEYS[2])
end
redis.call('PUBLISH', ARGV[5], news)
return 'ok'
