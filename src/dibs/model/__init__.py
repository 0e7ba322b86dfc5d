"""What things are. Leaf types that every other package may import; no behaviour beyond construction."""
