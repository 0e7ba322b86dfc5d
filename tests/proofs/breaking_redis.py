"""A Redis namespace that breaks at the k-th script of a verb, and can be made again what it was."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import redis
from redis import exceptions

from dibs.stores.redis import engine
from tests.servers.redis import Namespaces, contents, shared_programs, shared_urls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dibs.stores.redis.scripting import Script

    How = Literal["full", "lost before", "lost after"]

WRITES = {"add", "add_many", "claim", "commit", "settle"}


class BreakingNamespace:
    """The k-th script that writes finds no memory left, or is lost on its way there, or its answer is on its way back.

    All keys are remembered after `furnish`; `lend` puts them back."""

    def __init__(self, furnish: Callable[[str], None]) -> None:
        self._namespaces = Namespaces(shared_urls(shared_programs()[0]))
        self._lent = self._namespaces.lend()
        self.url = self._lent.__enter__()
        place, _, self._name = self.url.partition("?namespace=")
        self._client: Any = redis.Redis.from_url(place)
        self._left = 0
        self._how: How = "full"
        furnish(self.url)
        self._first = self._dumps()

    def _dumps(self) -> dict[bytes, bytes]:
        keys = sorted(self._client.scan_iter(f"*{self._name}*", count=1000))
        asked = self._client.pipeline(transaction=False)
        for key in keys:
            asked.dump(key)
        return dict(zip(keys, asked.execute(), strict=True))

    @contextmanager
    def lend(self) -> Iterator[None]:
        """As it was furnished; meanwhile scripts break here."""
        put = self._client.pipeline()
        for key in self._client.scan_iter(f"*{self._name}*", count=1000):
            put.delete(key)
        for key, dump in self._first.items():
            put.restore(key, 0, dump)
        put.execute()
        call = engine.Line.call
        engine.Line.call = self._breaking(call)  # type: ignore[method-assign]
        try:
            yield
        finally:
            engine.Line.call = call  # type: ignore[method-assign]
            self._left = 0

    def _breaking(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def broken(line: Any, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
            if script.name not in WRITES:
                return call(line, script, keys, arguments)
            self._left -= 1
            if self._left != 0:
                return call(line, script, keys, arguments)
            if self._how == "full":
                raise exceptions.OutOfMemoryError("OOM command not allowed when used memory > 'maxmemory'.")
            if self._how == "lost after":
                call(line, script, keys, arguments)
            line.is_in_doubt = True
            raise exceptions.ConnectionError("Connection closed by server.")

        return broken

    def break_at(self, number: int, how: How = "full") -> None:
        """`number` 0: nothing breaks."""
        self._left, self._how = number, how

    @property
    def has_broken(self) -> bool:
        return self._left <= 0

    def rows(self) -> dict[str, list[Any]]:
        """Every key there is."""
        return {"keys": sorted(contents(self._client, f"*{self._name}*").items())}

    def written(self) -> list[tuple[str, Any]]:
        """Every key but how often was written, and by which writes: those have names of their own."""
        found = contents(self._client, f"*{self._name}*")
        plain = {key: _in_order(value) for key, value in found.items() if not key.endswith(":done")}
        return sorted((key, value) for key, value in plain.items())

    def close(self) -> None:
        self._client.close()
        self._lent.__exit__(None, None, None)
        self._namespaces.close()


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted((name, each) for name, each in value.items() if name != b"version")
    return sorted(value) if isinstance(value, set) else value
