"""Requests made as the description that a server serves says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

JSON = "application/json"


class Operation(NamedTuple):
    """A verb as the server describes it."""

    verb: str
    method: str
    path: str
    described: Any

    @property
    def in_path(self) -> list[str]:
        """Names of the parameters in the path."""
        return [each["name"] for each in self.described.get("parameters", ()) if each["in"] == "path"]

    @property
    def takes(self) -> str | None:
        """The type of what it takes as its body."""
        return next(iter(self.described.get("requestBody", {}).get("content", {})), None)

    def request(self, arguments: Mapping[str, Any]) -> tuple[str, bytes | None, str | None]:
        """Target, body and Content-Type. A claim is the `task_id` in the path and its `fence`."""
        given = dict(arguments)
        if "task_id" in self.in_path and "claim" in given:
            given["task_id"], given["fence"] = given.pop("claim")
        target = self.path.format(**{name: quote(str(given.pop(name)), safe="") for name in self.in_path})
        if self.takes == JSON:
            return target, json.dumps(given).encode(), JSON
        data = None if self.takes is None else str(given.pop("data", "")).encode()
        query = urlencode([(name, _in_query(each)) for name, value in given.items() for each in _each(value)])
        return f"{target}?{query}" if query else target, data, self.takes


def operations(description: Any) -> list[Operation]:
    """All that a server describes."""
    return [
        Operation(operation["operationId"].removesuffix(f"_{path.split('/')[2]}"), method.upper(), path, operation)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]


def of_verb(found: Iterable[Operation], verb: str, arguments: Mapping[str, Any]) -> Operation | None:
    """The operation of a verb; where tasks and dags have one each, that of the target."""
    those = [each for each in found if each.verb == verb]
    home = "/v1/dags/" if str(arguments.get("target")).startswith("dag_") else "/v1/tasks/"
    return next((each for each in those if len(those) == 1 or each.path.startswith(home)), None)


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _in_query(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)
