"""Bad input: a clear error that names the field, and nothing has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import DibsError, Invalid
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, take

if TYPE_CHECKING:
    from dibs.queue import Queue


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("type", {"type": ""}),
    ("type", {"type": "  "}),
    ("type", {"type": "a\0b"}),
    ("type", {"type": "\ud800"}),
    ("type", {"type": "x" * 201}),
    ("type", {"type": 7}),
    ("title", {"title": "x" * 4001}),
    ("title", {"title": "a\0"}),
    ("payload", {"payload": "a\0b"}),
    ("payload", {"payload": {"k\0": 1}}),
    ("payload", {"payload": ["\udfff"]}),
    ("payload", {"payload": float("nan")}),
    ("payload", {"payload": [float("inf")]}),
    ("payload", {"payload": nested(100)}),
    ("payload", {"payload": "x" * 10_000_000}),
    ("payload", {"payload": {1: "number as key"}}),
    ("payload", {"payload": object()}),
    ("priority", {"priority": -1}),
    ("priority", {"priority": 100.5}),
    ("priority", {"priority": float("nan")}),
    ("priority", {"priority": "high"}),
    ("boost", {"boost": -0.1}),
    ("boost", {"boost": 1001}),
    ("boost", {"boost": float("nan")}),
    ("deadline", {"deadline": "tomorrow"}),
    ("deadline", {"deadline": "2026-01-01T00:00:00"}),
    ("on_deadline", {"on_deadline": "explode"}),
    ("run_after", {"run_after": -5}),
    ("run_after", {"run_after": float("inf")}),
    ("run_after", {"run_after": "9999-01-01T00:00:00+00:00"}),
    ("timeout", {"timeout": 0}),
    ("timeout", {"timeout": -3}),
    ("timeout", {"timeout": "5 parsecs"}),
    ("timeout", {"timeout": 10**12}),
    ("max_attempts", {"max_attempts": 0}),
    ("max_attempts", {"max_attempts": 1.5}),
    ("max_attempts", {"max_attempts": True}),
    ("retry", {"retry": "sometimes"}),
    ("retry", {"retry": "fixed:soon"}),
    ("retry", {"retry": 5}),
    ("tags", {"tags": "not-a-list"}),
    ("tags", {"tags": [""]}),
    ("tags", {"tags": ["x" * 201]}),
    ("requires", {"requires": ["a\0"]}),
    ("assignee", {"assignee": " "}),
    ("models", {"models": [3]}),
    ("key", {"key": ""}),
    ("key", {"key": "x" * 201}),
    ("user", {"user": "\0"}),
    ("after", {"after": "one-id-not-a-list"}),
    ("after", {"after": [""]}),
    ("after", {"after": [3]}),
    ("dag", {"dag": ""}),
    ("locks", {"locks": "not-a-list"}),
    ("locks", {"locks": [""]}),
    ("locks", {"locks": [f"lock{number}" for number in range(21)]}),
    ("max_cost", {"max_cost": -0.5}),
    ("max_tokens", {"max_tokens": 0.5}),
    ("max_turns", {"max_turns": -5}),
    ("expects", {"expects": 5}),
    ("expects", {"expects": {}}),
    ("expects", {"expects": {"schema": {}}}),
    ("expects", {"expects": {"validation": "vibes"}}),
    ("expects", {"expects": {"validation": []}}),
    ("expects", {"expects": {"validation": "json-schema"}}),
    ("expects", {"expects": {"validation": "json-schema", "schema": {"type": "strnig"}}}),
    ("expects", {"expects": {"validation": "json-schema", "schema": {"$ref": "https://example.com/schema.json"}}}),
    ("expects", {"expects": {"validation": "json-schema", "schema": {"$ref": "#"}}}),
    ("expects", {"expects": {"validation": "json-schema", "schema": {"pattern": "(?=x)"}}}),
    ("expects", {"expects": {"validation": "regex", "pattern": "("}}),
    ("expects", {"expects": {"validation": "regex", "pattern": "a\0"}}),
    ("expects", {"expects": {"validation": "regex", "patern": "a"}}),
    ("expects", {"expects": {"validation": "decision-report", "fields": []}}),
    ("expects", {"expects": {"validation": "none", "schema": {"enum": ["x" * 65_536]}}}),
    ("expects", {"expects": {"validation": "none", "type": object()}}),
    ("expects", {"expects": {"validation": "human", "assignee": 7}}),
    ("expects", {"expects": {"validation": "judge"}}),
    ("expects", {"expects": {"validation": ["judge", "regex"], "rubric": "r", "pattern": "a"}}),
    ("expects", {"expects": {"validation": "command"}}),
    ("expects", {"expects": {"validation": "command", "argv": "make test"}}),
    ("expects", {"expects": {"validation": "test-pass", "argv": ["make", "a\0"]}}),
    ("expects", {"expects": {"validation": "test-pass", "argv": ["make"], "timeout": "soon"}}),
    ("expects", {"expects": {"validation": ["regex", "llm-judge"], "pattern": "a"}}),
    ("approval", {"approval": "yes"}),
    ("coalesce_key", {"coalesce_key": ""}),
    ("coalesce_key", {"coalesce_key": 7}),
    ("coalesce_key", {"coalesce_key": "k" * 201}),
    ("coalesce_window", {"coalesce_window": 9}),
    ("coalesce_window", {"coalesce_key": "c", "coalesce_window": -1}),
    ("coalesce_window", {"coalesce_key": "c", "coalesce_window": True}),
    ("coalesce_window", {"coalesce_key": "c", "coalesce_window": "2h"}),
    ("coalesce_window", {"coalesce_key": "c", "coalesce_window": None}),
]


def _name(value: object) -> str:
    """Short, and the same in every process: values such as `object()` are neither."""
    return value if isinstance(value, str) else type(value).__name__


class BadInput(Topic):
    @pytest.mark.parametrize(("field", "options"), REFUSED, ids=_name)
    @pytest.mark.door
    def test_an_add_that_makes_no_sense_is_refused_by_field(self, field: str, options: dict[str, Any]) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            for attempt in (
                queue.add(**{"type": "job", **options}),
                queue.add_many([NewTask("fine"), NewTask(**{"type": "job", **options})]),
                queue.add_dag("Odd", [NewTask("fine"), NewTask(**{"type": "job", **options})]),
            ):
                with pytest.raises(Invalid) as caught:
                    await attempt
                assert (caught.value.field, caught.value.exit_code) == (field, 2)
                assert str(caught.value)
            assert (await queue.find()).items == []
            assert await queue.store.last_seq() == 0

        self.run(check)

    @pytest.mark.parametrize(
        ("field", "options"),
        [
            ("agent", {"agent": "  "}),
            ("agent", {"agent": "a\0"}),
            ("limit", {"limit": 0}),
            ("limit", {"limit": 1.5}),
            ("limit", {"limit": 10**9}),
            ("lease", {"lease": "25h"}),
            ("lease", {"lease": 0.9}),
            ("wait", {"wait": -1}),
            ("types", {"types": "job"}),
            ("types", {"types": [""]}),
            ("capabilities", {"capabilities": ["\0"]}),
            ("models", {"models": "large"}),
            ("claim_id", {"claim_id": ""}),
        ],
        ids=_name,
    )
    @pytest.mark.door
    def test_a_claim_that_makes_no_sense_is_refused_by_field(self, field: str, options: dict[str, Any]) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            await queue.add("job")
            with pytest.raises(Invalid) as caught:
                await queue.claim(**{"agent": "ada", **options})
            assert caught.value.field == field
            await take(queue)

        self.run(check)

    @pytest.mark.door
    async def test_what_an_agent_reports_wrongly_is_refused_and_it_keeps_its_task(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        for field, attempt in (
            ("progress", queue.renew(claim, progress=1.5)),
            ("lease", queue.renew(claim, lease=0)),
            ("cost", queue.renew(claim, cost=-1)),
            ("tokens_in", queue.complete(claim, tokens_in=-5)),
            ("cost", queue.complete(claim, cost=float("nan"))),
            ("retry_after", queue.fail(claim, "no", retry_after=-1)),
            ("reason", queue.fail(claim, "no", reason=" ")),
            ("delay", queue.release(claim, delay=-1)),
            ("fence", queue.renew((claim.task.id, -1))),
            ("tasks", queue.spawn(claim, [])),
        ):
            with pytest.raises(Invalid) as caught:
                await attempt
            assert caught.value.field == field
        await queue.complete(claim)

    @pytest.mark.door
    async def test_an_output_over_the_limit_is_refused_and_the_task_stays_held(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        with pytest.raises(Invalid) as caught:
            await queue.complete(claim, "x" * (17 << 20))
        assert caught.value.field == "output"
        await queue.complete(claim, "short")

    @pytest.mark.door
    async def test_too_many_tasks_in_one_call_are_refused(self, queue: Queue) -> None:
        with pytest.raises(Invalid) as caught:
            await queue.add_many([NewTask("job")] * 10_001)
        assert caught.value.field == "tasks"
        assert (await queue.find()).items == []

    @pytest.mark.door
    async def test_empty_dags_and_impossible_budgets_are_refused(self, queue: Queue) -> None:
        with pytest.raises(Invalid) as caught:
            await queue.add_dag("Empty", [])
        assert caught.value.field == "tasks"
        with pytest.raises(Invalid) as caught:
            await queue.add_dag("Rich", [NewTask("job")], budget=-5.0)
        assert caught.value.field == "budget"

    @pytest.mark.door
    async def test_ids_that_make_no_sense_are_refused(self, queue: Queue) -> None:
        for bad in ("", "  ", "\0", "x" * 201):
            for verb in (queue.get, queue.cancel, queue.retry, queue.history, queue.why, queue.get_dag):
                with pytest.raises(DibsError) as caught:
                    await verb(bad)
                assert caught.value.exit_code in (2, 4)
