"""Tasks written in a file, YAML or JSON: for `dag submit` and `spawn`.

A field nobody knows is refused, never ignored: a misspelt `after` would run a task too early.
"""

from __future__ import annotations

from typing import Any

from dibs.cli.values import MAX_BYTES, read_file, read_stdin
from dibs.errors import Invalid
from dibs.model.retry import Retry
from dibs.model.task import NewTask

MAX_VALUES = 1_000_000
"""What a file may hold once its aliases are written out; a few lines of them could stand for more than any memory."""
CHARS_PER_VALUE = 100
"""How much text counts as one value more."""

DAG_FIELDS = ("title", "tasks", "key", "budget", "on_failure", "escalation", "user", "created_by")
TASK_FIELDS = NewTask.__struct_fields__
RETRY_FIELDS = Retry.__struct_fields__


def read_dag(path: str) -> tuple[str | None, list[NewTask], dict[str, Any]]:
    """A dag's title, its tasks and its options."""
    content = _read(path)
    if not isinstance(content, dict):
        raise Invalid("a dag file holds an object: title: …, tasks: [{type: …}, …]", field="file")
    _refuse_unknown(content, DAG_FIELDS, "the dag")
    if "tasks" not in content:
        raise Invalid("the dag has no tasks; add a list of them: tasks: [{type: …}, …]", field="tasks")
    options = {name: value for name, value in content.items() if name not in ("title", "tasks")}
    return content.get("title"), _tasks(content["tasks"]), options


def read_tasks(path: str) -> list[NewTask]:
    """A list of tasks; an object with nothing but `tasks` will do as well."""
    content = _read(path)
    if isinstance(content, dict):
        if "type" in content:
            raise Invalid("one task must stand in a list, too: [{type: …}]", field="tasks")
        _refuse_unknown(content, ("tasks",), "the file")
        content = content.get("tasks")
    return _tasks(content)


def _tasks(content: Any) -> list[NewTask]:
    if not isinstance(content, list):
        raise Invalid("tasks must be a list: [{type: …, payload: …}, …]", field="tasks")
    return [_task(item, place) for place, item in enumerate(content, 1)]


def _task(item: Any, place: int) -> NewTask:
    if not isinstance(item, dict):
        raise Invalid(f"task {place} must be an object such as {{type: research}}", field="tasks")
    ref = item.get("ref")
    who = f"task {ref!r}" if isinstance(ref, str) else f"task {place}"
    _refuse_unknown(item, TASK_FIELDS, who)
    if "type" not in item:
        raise Invalid(f"{who} has no type", field="type")
    if isinstance(item.get("retry"), dict):
        item = {**item, "retry": _retry(item["retry"], who)}
    return NewTask(**item)


def _retry(written: dict[Any, Any], who: str) -> Retry:
    _refuse_unknown(written, RETRY_FIELDS, f"{who}, retry")
    reasons = {
        name: tuple(value) for name in ("retry_on", "no_retry_on") if isinstance(value := written.get(name), list)
    }
    return Retry(**{**written, **reasons})


def _refuse_unknown(written: dict[Any, Any], known: tuple[str, ...], where: str) -> None:
    for name in written:
        if name not in known:
            from difflib import get_close_matches

            close = get_close_matches(str(name), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are: {', '.join(known)}"
            raise Invalid(f"{where} has an unknown field {str(name)!r}; {hint}", field=str(name))


def _read(path: str) -> Any:
    content = read_stdin("file") if path == "-" else read_file(path, "file")
    if len(content) > MAX_BYTES:
        raise Invalid(f"the file has more than {MAX_BYTES:,} bytes", field="file", code="too_large")
    if path.endswith((".yaml", ".yml")):
        return parse_yaml(content)
    from msgspec import DecodeError, json

    try:
        return json.decode(content)
    except RecursionError:
        raise Invalid("the file is nested too deeply", field="file") from None
    except (DecodeError, UnicodeError) as error:
        if path.endswith(".json"):
            raise Invalid(f"{path} is not JSON: {error}", field="file") from None
        return parse_yaml(content)


def parse_yaml(content: bytes) -> Any:
    """YAML as far as it is JSON; `Invalid` if it is not, or stands for too much."""
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML as far as it is JSON: instants stay the text that was written, a key may stand once."""

        def __init__(self, stream: Any) -> None:
            super().__init__(stream)
            self.flattened: set[int] = set()
            self.merged = 0

        def flatten_mapping(self, node: Any) -> None:
            """Write out what `<<` brings into a mapping, once, after looking at what was written and how much it is."""
            if id(node) in self.flattened:
                return
            self.flattened.add(id(node))
            seen: set[str] = set()
            for key, value in node.value:
                name = str(key.value)
                if name in seen and key.tag != "tag:yaml.org,2002:merge":
                    line = key.start_mark.line + 1
                    raise Invalid(f"line {line} of the file has {name!r} a second time", field=name)
                seen.add(name)
                if key.tag == "tag:yaml.org,2002:merge":
                    for source in value.value if isinstance(value, yaml.SequenceNode) else (value,):
                        if isinstance(source, yaml.MappingNode):
                            self.flatten_mapping(source)
                            self.merged += len(source.value)
                            if self.merged > MAX_VALUES:
                                raise _too_much()
            super().flatten_mapping(node)

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        loaded = yaml.load(content, Loader)  # noqa: S506 - a SafeLoader
    except RecursionError:
        raise Invalid("the file is nested too deeply", field="file") from None
    except (yaml.YAMLError, UnicodeError, ValueError) as error:
        problem = " ".join(str(error).replace('in "<byte string>", ', "in ").split())
        raise Invalid(f"the file is neither YAML nor JSON: {problem}", field="file") from None
    _refuse_bombs(loaded)
    return loaded


def _refuse_bombs(loaded: Any) -> None:
    """Refuse what would be too much with its aliases written out. Looks at each container once, without recursion."""
    sizes: dict[int, int | None] = {}
    stack = [loaded]
    while stack:
        value = stack[-1]
        if not isinstance(value, (dict, list, tuple, set)) or sizes.get(id(value)) is not None:
            stack.pop()
            continue
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        if id(value) not in sizes:
            sizes[id(value)] = None  # being counted
            stack += [part for part in parts if isinstance(part, (dict, list, tuple, set))]
            continue
        size = 1
        for part in parts:
            if isinstance(part, (dict, list, tuple, set)):
                inside = sizes[id(part)]
                if inside is None:
                    raise Invalid("the file has an alias inside of what it stands for", field="tasks")
                size += inside
            else:
                size += 1 + (len(part) // CHARS_PER_VALUE if isinstance(part, (str, bytes)) else 0)
        if size > MAX_VALUES:
            raise _too_much()
        sizes[id(value)] = size
        stack.pop()


def _too_much() -> Invalid:
    return Invalid(
        f"the tasks hold more than {MAX_VALUES:,} values once the file's aliases are written out",
        field="tasks",
        code="too_large",
    )
