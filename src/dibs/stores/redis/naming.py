"""How a namespace becomes the beginning of its keys.

`{dibs:NAME}` stands before everything that a namespace has. The braces are a hash tag: a Redis Cluster keeps all keys
with the same one on the same node, where one script may use them together. What is not a letter, a digit or one of
`_.-~` is written as %XX, so that no name can end the tag, look like a pattern, or become the name of another.
"""

from __future__ import annotations

from urllib.parse import quote

NAMESPACE = "dibs"
LONGEST = 200


def tag(namespace: str) -> str:
    """What the names of all keys and channels of this namespace begin with, and no others."""
    return f"{{dibs:{quote(namespace, safe='')}}}"
