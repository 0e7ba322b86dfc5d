"""MCP on stdio: the list of tools, resources and prompts, and calls of each tool, good and bad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.compare.processes import Conversation
from tests.compare.program import IN_OTHER_PROCESSES, Program

if TYPE_CHECKING:
    from tests.compare.program import Scene


class Client:
    """One MCP client of `dibs mcp`."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._line = Conversation(scene, "mcp", "--agent", "coder-1")
        self._number = 0

    def ask(self, step: str, method: str, **parameters: Any) -> Any:
        """Send a request; note and return its answer, passing over what the server tells by itself."""
        self._number += 1
        self._line.say({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        while (answer := self._line.hear()) and answer.get("id") != self._number:
            pass
        self._scene.note(step, answer)
        return answer.get("result", {})

    def tell(self, method: str) -> None:
        """Send what needs no answer."""
        self._line.say({"jsonrpc": "2.0", "method": method})

    def call(self, tool: str, **given: Any) -> Any:
        """Call a tool; return what it answered as data."""
        answer = self.ask(f"{tool}({', '.join(sorted(given))})", "tools/call", name=tool, arguments=given)
        return answer.get("structuredContent") or {}

    def end(self) -> None:
        """Leave, and note the exit code."""
        self._scene.note("exit", self._line.end())


def _begin(scene: Scene) -> Client:
    client = Client(scene)
    client.ask(
        *("initialize", "initialize"),
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "compare", "version": "1"},
    )
    client.tell("notifications/initialized")
    return client


def _lists(scene: Scene) -> None:
    client = _begin(scene)
    for tool in client.ask("tools/list", "tools/list").get("tools", ()):
        scene.note(f"tool {tool['name']}", tool)
    client.ask("resources/list", "resources/list")
    client.ask("resources/templates/list", "resources/templates/list")
    client.ask("prompts/list", "prompts/list")
    client.ask("nothing/of/the/kind", "nothing/of/the/kind")
    client.end()


def _calls(scene: Scene) -> None:
    client = _begin(scene)
    client.call("add", type="code", title="First", payload={"n": 1})
    client.call("add", type="code", payload={"n": 2}, priority=10, max_attempts=1)
    client.call("find", type="code")
    for end in ("complete", "fail"):
        task = _task_of(client.call("claim", types=["code"]))
        client.call("progress", task=task, progress=0.5, note="half")
        client.call("show", task=task)
        client.call("why", task=task)
        client.call("spawn", task=task, tasks=[{"type": "part", "payload": 1}])
        if end == "complete":
            client.call("complete", task=task, output={"done": True})
        else:
            client.call("fail", task=task, error="boom", reason="error")
    task = _task_of(client.call("claim", types=["part"]))
    client.call("ask", task=task, question="Which?")
    client.call("inbox")
    task = _task_of(client.call("claim", types=["part"]))
    client.call("release", task=task)
    client.call("claim", types=["nothing"])
    client.end()


def _task_of(claimed: Any) -> str:
    """The id of the task in a claim, wherever it stands."""
    if isinstance(claimed, dict):
        if str(claimed.get("id", "")).startswith("task_"):
            return str(claimed["id"])
        found = claimed.get("task")
        if isinstance(found, str):
            return found
        return next((id for each in claimed.values() if (id := _task_of(each))), "")
    return next((id for each in claimed if (id := _task_of(each))), "") if isinstance(claimed, list) else ""


def _bad(scene: Scene) -> None:
    client = _begin(scene)
    tools = client.ask("tools/list", "tools/list").get("tools", ())
    for tool in tools:
        client.call(tool["name"])
        client.call(tool["name"], no_such_argument=1)
        needed = tool["inputSchema"].get("required", ())
        client.call(tool["name"], **dict.fromkeys(needed, "task_00000000000000000000000000"))
    client.call("no_such_tool")
    client.end()


PROGRAMS = tuple(
    Program("mcp", name, run, stores=IN_OTHER_PROCESSES)
    for name, run in (("what there is", _lists), ("a task's life", _calls), ("bad calls of each tool", _bad))
)
