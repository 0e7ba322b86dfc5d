-- What a claim took is kept as it is: making thousands of numbers smaller took longer than writing them.
-- Locks: claims, for a moment.
ALTER TABLE dibs.claims ALTER ns SET STORAGE EXTERNAL, ALTER fences SET STORAGE EXTERNAL;
