ALTER TABLE attempts ADD COLUMN price TEXT;  -- the version of the prices that the cost was computed with
