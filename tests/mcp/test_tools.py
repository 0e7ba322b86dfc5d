"""What the tools answer, and what they do not take."""

from __future__ import annotations

from typing import Any

import pytest

import dibs
from dibs import keeping, settling
from dibs.mcp.answers import MOST_CHARS
from dibs.mcp.definitions import TOOLS
from tests.mcp.agents import in_loop, inside

BAD: list[tuple[str, dict[str, Any], str]] = [
    ("claim", {"wait": 46}, "wait"),
    ("claim", {"wait": "30s"}, "wait"),
    ("claim", {"types": "code"}, "types"),
    ("claim", {"types": [1]}, "types"),
    ("claim", {"kinds": ["code"]}, "kinds"),
    ("progress", {"progress": 1.5}, "progress"),
    ("progress", {"progress": True}, "progress"),
    ("progress", {"note": 5}, "note"),
    ("complete", {"outptu": 1}, "outptu"),
    ("complete", {"output": 1, "cost": -1}, "cost"),
    ("complete", {"output": 1, "tokens_in": 1.5}, "tokens_in"),
    ("fail", {}, "error"),
    ("fail", {"error": ["no"]}, "error"),
    ("fail", {"error": "x", "retry": "no"}, "retry"),
    ("release", {"delay": -1}, "delay"),
    ("spawn", {"tasks": []}, "tasks"),
    ("spawn", {"tasks": [{"title": "no type"}]}, "type"),
    ("spawn", {"tasks": ["code"]}, "tasks"),
    ("spawn", {"tasks": [{"type": "t", "prioritee": 1}]}, "prioritee"),
    ("spawn", {"tasks": [{"type": "t"}], "wait": 1}, "wait"),
    ("ask", {}, "question"),
    ("ask", {"question": ""}, "question"),
    ("ask", {"question": "?", "schema": "string"}, "schema"),
    ("ask", {"question": "?", "default": "x"}, "timeout"),
    ("add", {}, "tasks"),
    ("add", {"tasks": []}, "tasks"),
    ("add", {"tasks": [{"type": ""}]}, "type"),
    ("add", {"tasks": [{"type": "t", "priority": 1000}]}, "priority"),
    ("add", {"tasks": [{"type": "t", "after": ["nobody"]}]}, "after"),
    ("add", {"tasks": [{"type": "t", "retry": {"strategy": "never"}}]}, "retry"),
    ("find", {"status": ["done"]}, "status"),
    ("find", {"limit": 1000}, "limit"),
    ("show", {}, "id"),
    ("show", {"id": 5}, "id"),
    ("show", {"id": "task_nobody"}, "task_id"),
    ("show", {"id": "dag_nobody"}, "dag_id"),
    ("why", {"id": "task_nobody"}, "task_id"),
    ("inbox", {"assignee": ""}, "assignee"),
    ("answer", {"question": "q_nobody", "value": 1}, "question_id"),
    ("answer", {"question": "q_nobody"}, "value"),
]


@in_loop
async def test_what_a_tool_does_not_take_is_named_and_changes_nothing() -> None:
    """Every tool; on one queue, so that it shows if one of them did something."""
    assert {tool for tool, _, _ in BAD} == {tool.name for tool in TOOLS}
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        task = await queue.add("held")
        await agent("claim")
        before = await queue.store.last_seq()
        for tool, given, field in BAD:
            told = await agent.refusal(tool, **given)
            assert (told.get("field"), bool(told["message"]), bool(told["next"])) == (field, True, True), (tool, told)
        assert await queue.store.last_seq() == before
        assert (await queue.get(task.id)).status == "running"
        await agent("complete")


@in_loop
async def test_a_tool_that_there_is_not_is_an_error_of_the_protocol() -> None:
    from mcp.shared.exceptions import MCPError

    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        with pytest.raises(MCPError, match="there are claim, progress"):
            await agent.client.call_tool("steal", {})


@in_loop
async def test_text_that_cannot_be_is_replaced_in_what_agents_say_and_refused_in_what_users_say() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        assert (await agent.refusal("add", tasks=[{"type": "t", "payload": "nul \0"}]))["field"] == "payload"
        await queue.add("t")
        claimed = await agent("claim")
        await agent("complete", output="nul \0")
        assert (await queue.get(claimed["task"])).output == "nul �"


@in_loop
async def test_who_holds_nothing_is_told_to_claim() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        for tool, given in (("complete", {}), ("fail", {"error": "x"}), ("progress", {}), ("release", {})):
            told = await agent.refusal(tool, **given)
            assert (told["error"], told["next"]) == ("not_held", "claim a task first.")


@in_loop
async def test_who_holds_several_says_which() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        await queue.add_many([dibs.NewTask("t"), dibs.NewTask("t")])
        first = await agent("claim")
        second = await agent("claim")
        assert second["also_held"] == [first["task"]]
        told = await agent.refusal("complete", output=1)
        assert told["field"] == "task"
        assert first["task"] in told["message"]
        await agent("complete", output=1, task=second["task"])
        await agent("complete", output=2)
        assert (await queue.get(first["task"])).output == 2


@in_loop
async def test_an_empty_claim_says_whether_to_ask_again() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        assert (await agent("claim", wait=0))["next"] == "Nothing is left to do: you are done."
        await queue.add("other")
        told = await agent("claim", wait=0, types=["mine"])
        assert (told["task"], told["unfinished"]) == (None, {"ready": 1})
        assert told["next"].startswith("Nothing for you now. claim again")


@in_loop
async def test_an_output_that_is_refused_is_told_with_the_reason() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        contract = {"validation": "json-schema", "schema": {"type": "object", "required": ["url"]}}
        await queue.add("t", expects=contract, retry="immediate")
        await agent("claim")
        told = await agent("complete", output={"link": 1})
        assert told["outcome"] == "rejected"
        assert "url" in told["why"]
        again = await agent("claim")
        assert "url" in again["previous_attempts"][0]["error"]
        assert (await agent("complete", output={"url": "x"}))["status"] == "completed"


@in_loop
async def test_a_child_that_failed_is_told_with_its_error() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        await queue.add("parent", priority=90)
        await agent("claim")
        await agent("spawn", tasks=[{"type": "small", "ref": "part", "max_attempts": 1}], wait=True)
        await agent("claim")
        assert (await agent("fail", error="no such file"))["status"] == "dead_lettered"
        parent = await agent("claim")
        assert parent["children"]["part"]["status"] == "dead_lettered"
        assert parent["children"]["part"]["error"] == "no such file"


@in_loop
async def test_a_spawn_without_wait_leaves_the_claim() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        parent = await queue.add("parent")
        await agent("claim")
        spawned = (await agent("spawn", tasks=[{"type": "small"}, {"type": "small", "payload": 2}]))["spawned"]
        assert [(await queue.get(id)).parent_id for id in spawned] == [parent.id, parent.id]
        assert (await agent("complete", output="mine"))["task"] == parent.id


@in_loop
async def test_what_is_long_is_cut_and_can_be_read_in_pieces_or_whole() -> None:
    long = "abcdefghij" * 5_000
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        first = await queue.add("first")
        second = await queue.add("second", {"text": long}, after=[first])
        await agent("claim")
        await agent("complete", output=long)
        told = await agent("claim")
        assert told["payload"]["cut"].startswith('{"text":"abc')
        given = told["inputs"][first.id]
        assert (given["chars"], len(given["cut"])) == (50_000, MOST_CHARS)
        assert given["whole"] == f"dibs://task/{first.id}/output"
        [whole] = (await agent.client.read_resource(given["whole"])).contents
        assert whole.text == long  # type: ignore[union-attr]
        pieces = ""
        start: int | None = 0
        while start is not None:
            piece = await agent("show", id=first.id, part="output", **{"from": start})
            pieces += piece["text"]
            start = piece.get("next_from")
        assert pieces == long
        assert len((await agent("show", id=second.id))["payload"]["cut"]) == MOST_CHARS


@in_loop
async def test_tasks_that_belong_together_are_taken_and_ended_together() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        three = [dibs.NewTask("mail", n, coalesce_key="box", coalesce_window=0) for n in range(3)]
        made = await queue.add_many(three)
        told = await agent("claim")
        assert len(told["with"]) == 2
        await agent("complete", output="sent")
        assert [(await queue.get(task.id)).output for task in made] == ["sent"] * 3
        assert (await agent.refusal("complete"))["error"] == "not_held"


@in_loop
async def test_find_shows_a_page_at_a_time() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        await queue.add_many([dibs.NewTask("t", title=f"number {n}") for n in range(30)])
        first = await agent("find", status=["ready"])
        assert len(first["tasks"]) == 20
        rest = await agent("find", status=["ready"], cursor=first["cursor"])
        assert len({task["task"] for task in first["tasks"] + rest["tasks"]}) == 30
        assert await agent("find", type="none") == {"tasks": []}


@in_loop
async def test_why_says_what_would_help() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        first = await queue.add("first")
        second = await queue.add("second", after=[first])
        told = await agent("why", id=second.id)
        assert told["status"] == "pending"
        assert told["blockers"][0]["kind"] == "dependency"


@in_loop
async def test_whoever_adds_and_waits_gets_what_came_of_it() -> None:
    import asyncio

    async with dibs.connect("memory:") as queue, inside(queue) as agent, inside(queue, agent="other") as other:
        adding = asyncio.create_task(agent("add", tasks=[{"type": "quick"}], wait=True))
        await other("claim", wait=45)
        await other("complete", output={"answer": 42})
        told = await adding
        assert told["ended"]["output"] == {"answer": 42}


@in_loop
async def test_the_rules_a_task_and_a_dag_are_resources() -> None:
    import json

    from mcp.shared.exceptions import MCPError

    from dibs.priming import RULES

    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        dag = await queue.add_dag("graph", [dibs.NewTask("t", {"a": 1}, ref="one")])

        async def read(uri: str) -> str:
            [found] = (await agent.client.read_resource(uri)).contents
            return str(found.text)  # type: ignore[union-attr]

        [rules] = (await agent.client.list_resources()).resources
        assert RULES in await read(rules.uri)
        assert RULES in (agent.client.instructions or "")
        templates = (await agent.client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == [
            "dibs://task/{id}",
            "dibs://task/{id}/{part}",
            "dibs://dag/{id}",
        ]
        task = dag.tasks[0].id
        assert json.loads(await read(f"dibs://task/{task}"))["task"]["payload"] == {"a": 1}
        assert json.loads(await read(f"dibs://task/{task}/payload")) == {"a": 1}
        assert json.loads(await read(f"dibs://dag/{dag.id}"))["tasks"][0]["id"] == task
        for uri in ("dibs://task/task_x", "dibs://dag/dag_x", f"dibs://task/{task}/secrets", "file:///etc/passwd", "x"):
            with pytest.raises(MCPError, match="There is no"):
                await read(uri)


@in_loop
async def test_limits_that_are_left_are_told_and_who_is_over_them_is_stopped() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        await queue.add("t", max_cost=1.0, max_turns=5, retry="immediate")
        assert (await agent("claim"))["limits"] == {"usd": 1.0, "turns": 5}
        await agent("fail", error="x", cost=0.4)
        assert (await agent("claim"))["limits"] == {"usd": 0.6, "turns": 5}
        assert "stop" not in await agent("progress", cost=0.5)
        stop = "Over max_cost: complete with what you have, or fail with reason budget_exceeded."
        assert (await agent("progress", cost=0.7))["stop"] == stop


@in_loop
async def test_who_is_over_a_budget_gives_its_task_back_until_there_is_more() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        await queue.set_budget("type:t", 0.5)
        task = await queue.add("t")
        await agent("claim")
        stop = (await agent("progress", cost=0.6))["stop"]
        assert stop.startswith("Over budget:type:t:usd: complete with what you have, or release it")
        assert (await agent("release"))["status"] == "ready"
        assert (await agent("claim", wait=0))["task"] is None
        stopped = await queue.get(task.id)
        assert (stopped.reason, stopped.parked_on, stopped.attempts) == ("budget_exceeded", "budget:type:t:usd", 0)


@in_loop
async def test_a_parent_hears_of_each_end_once() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        await queue.add("parent")
        await agent("claim", types=["parent"])
        spawned = await agent("spawn", tasks=[{"type": "child", "ref": "a"}, {"type": "child", "ref": "b"}])
        assert "ended" not in await agent("progress")
        [claim] = await queue.claim("other", types=["child"])
        await queue.complete(claim, {"found": 3})
        told = await agent("progress")
        assert told["ended"] == [
            {"task": claim.task.id, "ref": claim.task.ref, "status": "completed", "output": {"found": 3}}
        ]
        assert claim.task.id in str(spawned)
        assert "ended" not in await agent("progress")
        [claim] = await queue.claim("other", types=["child"])
        await queue.fail(claim, "no luck", retry=False)
        await agent("release")
        again = await agent("claim", types=["parent"])
        assert [(each["status"], each.get("error")) for each in again["ended"]] == [
            ("completed", None),
            ("dead_lettered", "no luck"),
        ]


@in_loop
async def test_a_long_checkpoint_and_what_was_made_are_cut_and_can_be_read_whole() -> None:
    expects = {"validation": "command", "argv": ["true"]}
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        task = await queue.add("t", expects=expects, retry="immediate")
        [claim] = await queue.claim("first", lease=60)
        await queue.checkpoint(claim, {"at": "x" * 50_000})
        await keeping.keep(queue.store, claim, settling.completed(claim, "y" * 60_000))
        await queue.release(claim)
        told = await agent("claim")
        for name, whole in (("checkpoint", f'{{"at":"{"x" * 50_000}"}}'), ("made", "y" * 60_000)):
            assert len(told[name]["cut"]) == MOST_CHARS
            assert told[name]["whole"] == f"dibs://task/{task.id}/{name}"
            [read] = (await agent.client.read_resource(told[name]["whole"])).contents
            assert read.text == whole  # type: ignore[union-attr]
        other = await queue.add("other")
        [read] = (await agent.client.read_resource(f"dibs://task/{other.id}/checkpoint")).contents
        assert read.text == "null"  # type: ignore[union-attr]


@in_loop
async def test_a_claim_whose_answer_fails_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: Any) -> Any:
        raise dibs.Unavailable("the store is away")

    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        task = await queue.add("t")
        with monkeypatch.context() as patch:
            patch.setattr("dibs.mcp.tools._known", fails)
            assert (await agent.refusal("claim"))["error"] == "unavailable"
        [attempt] = await queue.history(task.id)
        assert (attempt.outcome, (await queue.get(task.id)).attempts) == ("released", 0)
        assert (await agent("claim"))["task"] == task.id


@in_loop
async def test_what_an_agent_adds_names_it_as_its_maker_as_what_it_spawns_does() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        [added] = (await agent("add", tasks=[{"type": "t"}]))["added"]
        claimed = await agent("claim")
        [spawned] = (await agent("spawn", tasks=[{"type": "u"}]))["spawned"]
        holder = (await queue.get(claimed["task"])).agent
        for id in (added, spawned):
            assert (await queue.get(id)).created_by == f"agent:{holder}"
        dag = (await agent("add", title="Two", tasks=[{"type": "v"}, {"type": "v"}]))["dag"]
        assert (await queue.get_dag(dag)).created_by == f"agent:{holder}"
