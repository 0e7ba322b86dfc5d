-- Rows of the raw limit: a hash each, and an entry in what waits.
-- KEYS: what waits, what is held, what rows begin with. ARGV: the first number, the last.
-- Reply: how many wait.
for number = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call('HSET', KEYS[3] .. number, 'name', 'noop', 'payload', '{"number":' .. number .. '}', 'status', 'pending', 'attempts', 0)
  redis.call('ZADD', KEYS[1], number, number)
end
return redis.call('ZCARD', KEYS[1])
