-- Claim rows, the first ones first.
-- KEYS: what waits, what is held, what rows begin with. ARGV: how many, now.
-- Reply: their numbers.
local picked = redis.call('ZPOPMIN', KEYS[1], ARGV[1])
local claimed = {}
for place = 1, #picked, 2 do
  local number = picked[place]
  redis.call('HSET', KEYS[3] .. number, 'status', 'active', 'claimed_at', ARGV[2], 'attempts', 1)
  redis.call('ZADD', KEYS[2], ARGV[2], number)
  claimed[#claimed + 1] = number
end
return claimed
