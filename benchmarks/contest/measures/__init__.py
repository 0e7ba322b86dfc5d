"""One module per measure.

Each has `UNITS`, the unit of each quantity that it finds, and either `once(contest, contestant)`, which makes one run
and answers a sample per quantity, or, where the runs share what was loaded, `together(contest, contestant)`, which
makes all of them and answers a list of samples per quantity.
"""
