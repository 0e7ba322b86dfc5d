"""What may happen: pure functions. No I/O, no clock, and no randomness that is not passed in.

A decision is made here once and returned as a value; stores only select and apply.
"""
