"""The contract as steps on a `State`: what the memory store and the Redis store have in common.

`state.py` is all there is to know; each other file holds the steps of one topic, and `store.py` the verbs. A step is
plain Python that runs from beginning to end on one state, at one instant (`state.now`). The memory store keeps that
state in this process; the Redis store brings in what a step asks for and writes back what it changed.
"""
