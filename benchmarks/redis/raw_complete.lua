-- Complete claimed rows.
-- KEYS: what waits, what is held, what rows begin with. ARGV: now, then their numbers.
-- Reply: how many.
for place = 2, #ARGV do
  redis.call('ZREM', KEYS[2], ARGV[place])
  redis.call('HSET', KEYS[3] .. ARGV[place], 'status', 'done', 'finished_at', ARGV[1])
end
return #ARGV - 1
