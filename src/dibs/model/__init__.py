"""What things are. Leaf types that every other package may import; no behaviour beyond construction.

Structs that come by the thousand are declared `gc=False`: they hold plain values and never each other in a circle, so
the garbage collector need not look at them. Collections went from 12 % of a bulk add to nothing.
"""
