"""The same queue over HTTP: `dibs.connect("http://…")`.

`RemoteQueue` is a `Queue` whose verbs are requests to a server (`verbs.py`), each said again where nobody answered and
saying it twice does no harm (`server.py`). How bytes get there is a line: `blocking.py` for the shell and for threads,
`looping.py` for event loops.
"""
