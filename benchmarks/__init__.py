"""How fast dibs is, as ratios to the store's own limit and to a peer: `python -m benchmarks`.

Every ratio compares figures of one run on one machine. What each of them means is in docs/performance.md.
"""
