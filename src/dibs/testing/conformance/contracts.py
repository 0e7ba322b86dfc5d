"""Output contracts: work is completed only with what its task expects, and the next attempt hears what was wrong."""

from __future__ import annotations

import sys
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import IllegalTransition, Invalid, LeaseLost, NotFound
from dibs.model.status import DagStatus, Outcome, Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

PRICE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "price": {"type": "number", "minimum": 0}},
    "required": ["name", "price"],
}
SCHEMA: dict[str, Any] = {"type": "json", "validation": "json-schema", "schema": PRICE}
LINK: dict[str, Any] = {"validation": "regex", "pattern": "https?://"}
REPORT: dict[str, Any] = {"validation": "decision-report"}
BOTH: dict[str, Any] = {"validation": ["json-schema", "decision-report"], "schema": PRICE, "fields": ["decision"]}
CHEAP: dict[str, Any] = {
    "validation": "command",
    "argv": [sys.executable, "-c", "import json, sys; json.load(sys.stdin)['price'] < 10 or sys.exit('too much')"],
    "timeout": "1m",
}
PAID: dict[str, Any] = {**CHEAP, "validation": ["json-schema", "test-pass", "decision-report"], "schema": PRICE}

GOOD: list[tuple[dict[str, Any], Any, Any]] = [
    (SCHEMA, {"name": "tea", "price": 3.5}, None),
    (LINK, "see https://example.com", None),
    (LINK, {"sources": ["http://example.com"]}, None),
    ({**LINK, "pattern": "[a-z]+\n?", "full": True}, "abc\n", None),
    (REPORT, "anything", {"decision": "tea", "reasoning": "it is cheaper"}),
    ({**REPORT, "fields": ["choice"]}, None, {"choice": 0}),
    ({"type": "text", "validation": "none"}, "anything", None),
    (BOTH, {"name": "tea", "price": 1}, {"decision": "tea"}),
    ({"validation": [LINK, {"validation": "regex", "pattern": "^# "}]}, "# Links\nhttps://example.com", None),
    (CHEAP, {"price": 9}, None),
    (PAID, {"name": "tea", "price": 9}, {"decision": "tea", "reasoning": "it is cheaper"}),
]

BAD: list[tuple[dict[str, Any], Any, Any, list[str]]] = [
    (
        SCHEMA,
        {"name": 7, "price": -1},
        None,
        ["refused by json-schema for 2 reasons", "/name: ", '"string"', "/price: ", "minimum of 0"],
    ),
    (SCHEMA, {"name": "tea"}, None, ['refused by json-schema: "price" is a required property']),
    (SCHEMA, "tea", None, ["refused by json-schema: ", '"object"']),
    (SCHEMA, None, None, ['"object"']),
    (LINK, "no link at all", None, ["refused by regex: ", "https?://"]),
    (LINK, {"sources": []}, None, ["refused by regex: "]),
    ({**LINK, "pattern": "[a-z]+", "full": True}, "abc 1", None, ["refused by regex: "]),
    (REPORT, {"decision": "tea", "reasoning": "here"}, None, ["refused by decision-report: no decision was given"]),
    (REPORT, "out", "because", ["decision-report: the decision is not an object with decision, reasoning"]),
    (REPORT, "out", {"decision": " "}, ["decision.decision is empty", "decision.reasoning is missing"]),
    ({**REPORT, "fields": ["choice"]}, None, {"decision": "tea"}, ["decision.choice is missing"]),
    (BOTH, {"name": "tea"}, {"decision": "tea"}, ["refused by json-schema: "]),
    (BOTH, {"name": "tea", "price": 1}, None, ["refused by decision-report: "]),
    (
        {"validation": [LINK, {"validation": "regex", "pattern": "^# "}]},
        "https://",
        None,
        ["refused by regex: ", "^# "],
    ),
    (CHEAP, {"price": 10}, None, ["refused by command: ", "ended with exit code 1", "too much"]),
    (PAID, {"name": "tea", "price": "-"}, None, ["refused by json-schema: "]),
    (PAID, {"name": "tea", "price": 10}, None, ["refused by command: "]),
    (PAID, {"name": "tea", "price": 9}, None, ["refused by decision-report: "]),
]


def _kinds(value: object) -> str:
    """What is checked; the same in every process."""
    if not isinstance(value, dict) or "validation" not in value:
        return ""
    kinds = value["validation"] if isinstance(value["validation"], list) else [value["validation"]]
    return "+".join(kind if isinstance(kind, str) else kind["validation"] for kind in kinds)


class Contracts(Topic):
    @pytest.mark.parametrize(("expects", "output", "decision"), GOOD, ids=_kinds)
    def test_what_was_expected_completes_the_task(self, expects: dict[str, Any], output: Any, decision: Any) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            task = await queue.add("job", expects=expects)
            claim = await take(queue)
            assert (task.expects, claim.task.expects) == (expects, expects)
            settled = await queue.complete(claim, output, decision=decision)
            assert (settled.outcome, settled.status) == ("completed", "completed")
            task = await queue.get(task.id)
            assert (task.output, task.decision, task.error, task.attempts) == (output, decision, None, 1)

        self.run(check)

    @pytest.mark.parametrize(("expects", "output", "decision", "told"), BAD, ids=_kinds)
    def test_anything_else_is_refused_with_reasons(
        self, expects: dict[str, Any], output: Any, decision: Any, told: list[str]
    ) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            task = await queue.add("job", expects=expects, retry="immediate")
            settled = await queue.complete(await take(queue), output, decision=decision, cost=0.25)
            assert (settled.outcome, settled.status) == ("rejected", "ready")
            task = await queue.get(task.id)
            assert (task.status, task.reason, task.attempts) == (Status.READY, "invalid_output", 1)
            assert (task.output, task.decision, task.cost_usd) == (None, None, 0.25)
            for part in told:
                assert part in (task.error or "")
            (previous,) = (await take(queue)).previous_attempts
            assert (previous.number, previous.outcome) == (1, Outcome.REJECTED)
            assert (previous.reason, previous.error) == ("invalid_output", task.error)

        self.run(check)

    async def test_the_first_check_that_refuses_is_the_only_one_heard(self, queue: Queue) -> None:
        await queue.add("job", expects=BOTH)
        claim = await take(queue)
        await queue.complete(claim, "neither", decision="nor")
        error = (await queue.get(claim.task.id)).error or ""
        assert "json-schema" in error
        assert "decision-report" not in error

    async def test_at_most_ten_reasons_are_told(self, queue: Queue) -> None:
        expects = {"validation": "json-schema", "schema": {"items": {"type": "integer"}}}
        await queue.add("job", expects=expects, retry="immediate")
        await queue.complete(await take(queue), ["x"] * 5_000)
        (previous,) = (await take(queue)).previous_attempts
        lines = (previous.error or "").splitlines()
        assert lines[0].startswith("refused by json-schema for more than 10 reasons: /0: ")
        assert [line.split(":")[0] for line in lines[1:]] == [f"/{number}" for number in range(1, 10)]

    async def test_a_rejected_task_waits_as_its_policy_says(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", expects=LINK, retry="fixed:30s")
        settled = await queue.complete(await take(queue), "no link")
        assert settled.status == "retrying"
        assert settled.retry_at is not None
        assert 15 <= (settled.retry_at - clock.now).total_seconds() <= 45
        why = await queue.why(task.id)
        assert why.explanation.startswith("Its last output was refused; it will be tried again in ")
        assert why.blockers[0].detail.startswith("refused by regex: ")
        assert (await story(queue, task.id))[-1] == "retrying"

    async def test_the_last_rejected_attempt_makes_a_dead_letter(self, queue: Queue) -> None:
        task = await queue.add("job", expects=LINK, retry="immediate", max_attempts=2)
        first = await queue.complete(await take(queue), "no link")
        second = await queue.complete(await take(queue), "still none")
        assert [first.status, second.status] == ["ready", "dead_lettered"]
        task = await queue.get(task.id)
        assert (task.reason, task.attempts, task.poison_pill) == ("invalid_output", 2, False)
        assert (await queue.why(task.id)).explanation == "It is a dead letter (invalid_output) after 2 attempts."
        assert await nothing(queue)
        await queue.retry(task.id)
        await queue.complete(await take(queue), "https://example.com")
        assert await status(queue, task) == Status.COMPLETED

    async def test_a_reason_that_is_not_retried_ends_it_at_once(self, queue: Queue) -> None:
        from dibs.model.retry import Retry

        await queue.add("job", expects=LINK, retry=Retry(no_retry_on=("invalid_output",)))
        assert (await queue.complete(await take(queue), "no link")).status == "dead_lettered"

    async def test_settling_again_is_answered_the_same(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", expects=BOTH)
        claim = await take(queue)
        held = (claim.task.id, claim.fence)
        answer = await queue.complete(claim, {"name": 1}, decision={"decision": "x"})
        clock.advance(1)
        assert await queue.complete(claim, {"name": 1}, decision={"decision": "x"}) == answer
        assert await queue.complete(held, {"name": 1}, decision={"decision": "x"}) == answer
        assert len(await queue.history(claim.task.id)) == 1
        for other in (
            queue.complete(held, {"name": 2}, decision={"decision": "x"}),
            queue.complete(held, {"name": 1}),
            queue.complete(held, {"name": "tea", "price": 1}, decision={"decision": "x"}),
            queue.fail(held, "on second thoughts"),
        ):
            with pytest.raises(IllegalTransition):
                await other

    async def test_a_rejected_claim_has_ended(self, queue: Queue) -> None:
        await queue.add("job", expects=LINK, retry="immediate")
        old = await take(queue)
        answer = await queue.complete(old, "no link")
        new = await take(queue)
        assert await queue.complete(old, "no link") == answer
        for late in (queue.complete(old, "https://example.com"), queue.renew(old)):
            with pytest.raises(LeaseLost):
                await late
        assert (await queue.complete(new, "https://example.com")).status == "completed"

    async def test_what_a_command_judged_is_not_judged_again(self, queue: Queue) -> None:
        # It passes when asked again, which it must not be.
        with tempfile.TemporaryDirectory() as folder:
            code = "import os, sys; found = os.path.exists(sys.argv[1]); open(sys.argv[1], 'w'); sys.exit(not found)"
            argv = [sys.executable, "-c", code, f"{folder}/asked"]
            await queue.add("job", expects={"validation": "command", "argv": argv}, retry="immediate")
            old = await take(queue)
            answer = await queue.complete(old, 1)
            assert (answer.outcome, answer.status) == ("rejected", "ready")
            assert await queue.complete(old, 1) == answer
            new = await take(queue)
            assert await queue.complete((old.task.id, old.fence), 1) == answer
            with pytest.raises(LeaseLost):
                await queue.complete(old, 2)
            assert (await queue.complete(new, 1)).outcome == "completed"

    async def test_whoever_lost_the_task_cannot_have_it_rejected(self, queue: Queue) -> None:
        await queue.add("job", expects=LINK)
        old = await take(queue)
        await queue.release(old)
        new = await take(queue)
        with pytest.raises(LeaseLost):
            await queue.complete(old, "no link")
        assert (await queue.get(new.task.id)).attempts == 0

    async def test_what_waits_for_a_rejected_task_waits_on(self, queue: Queue) -> None:
        dag = await queue.add_dag(
            "Guide",
            [
                NewTask("facts", ref="facts", expects=LINK, retry="immediate", max_attempts=2),
                NewTask("write", ref="write", after=["facts"]),
            ],
        )
        await queue.complete(await take(queue, "facts"), "no link")
        assert await nothing(queue, "write")
        await queue.complete(await take(queue, "facts"), "https://example.com")
        claim = await take(queue, "write")
        assert claim.inputs == {"facts": "https://example.com"}
        await queue.complete(claim)
        assert (await queue.get_dag(dag.id)).status is DagStatus.COMPLETED

    async def test_what_depends_on_a_task_that_was_rejected_for_good_is_cancelled(self, queue: Queue) -> None:
        facts = await queue.add("facts", expects=LINK, max_attempts=1)
        write = await queue.add("write", after=[facts])
        await queue.complete(await take(queue, "facts"), "no link")
        assert [await status(queue, facts), await status(queue, write)] == [Status.DEAD_LETTERED, Status.CANCELLED]
        assert (await queue.get(write.id)).reason == "dependency_failed"

    async def test_tasks_with_and_without_a_contract_are_added_together(self, queue: Queue) -> None:
        tasks = [NewTask("job", number, expects=LINK if number % 2 else None) for number in range(400)]
        added = await queue.add_many(tasks)
        assert [task.expects for task in added[:3]] == [None, LINK, None]
        kept = [(await queue.get(task.id)).expects for task in added[-3:]]
        assert kept == [LINK, None, LINK]

    async def test_spawned_tasks_have_contracts_too(self, queue: Queue) -> None:
        await queue.add("parent")
        parent = await take(queue)
        (child,) = await queue.spawn(parent, [NewTask("child", expects=LINK)], wait=True)
        assert (await queue.complete(await take(queue, "child"), "no link")).outcome == "rejected"
        assert await status(queue, parent.task) == Status.PENDING
        assert (await queue.get(child.id)).expects == LINK

    async def test_without_a_contract_every_output_completes(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        assert claim.task.expects is None
        assert (await queue.complete(claim, {"name": 7})).outcome == "completed"

    async def test_a_report_says_what_its_type_wants_to_know(self, queue: Queue) -> None:
        made = await queue.set_report("review", ["decision", "risks"])
        assert (made.type, made.fields) == ("review", ("decision", "risks"))
        task = await queue.add("review", expects=REPORT, retry="immediate")
        assert (await queue.get(task.id)).expects == task.expects == {**REPORT, "fields": ["decision", "risks"]}
        await queue.set_report("review", ("cost",))
        claim = await take(queue)
        refused = await queue.complete(claim, decision={"decision": "yes", "reasoning": "why not"})
        assert refused.outcome == Outcome.REJECTED
        assert (await queue.get(task.id)).error == "refused by decision-report: decision.risks is missing"
        await queue.complete(await take(queue), decision={"decision": "yes", "risks": "none"})
        assert await status(queue, task) is Status.COMPLETED
        assert (await queue.add("review", expects=REPORT)).expects == {**REPORT, "fields": ["cost"]}

    async def test_reports_of_other_types_and_with_fields_of_their_own_are_left_alone(self, queue: Queue) -> None:
        await queue.set_report("review", ["risks"])
        own = {**REPORT, "fields": ["choice"]}
        found = await queue.add_many(
            [NewTask("other", expects=REPORT), NewTask("review", expects=own), NewTask("review", expects=LINK)]
        )
        assert [task.expects for task in found] == [REPORT, own, LINK]
        await queue.set_report("*", ["cost"])
        found = await queue.add_many([NewTask("other", expects=REPORT), NewTask("review", expects=REPORT)])
        assert [(task.expects or {})["fields"] for task in found] == [["cost"], ["risks"]]
        assert [(report.type, report.fields) for report in await queue.reports()] == [
            ("*", ("cost",)),
            ("review", ("risks",)),
        ]
        removed = await queue.remove_report("review")
        assert (removed.type, removed.fields) == ("review", ("risks",))
        with pytest.raises(NotFound):
            await queue.remove_report("review")
        assert (await queue.add("review", expects=REPORT)).expects == {**REPORT, "fields": ["cost"]}

    async def test_whatever_adds_a_task_asks_what_its_type_wants_to_know(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_report("review", ["risks"])
        dag = await queue.add_dag("D", [NewTask("review", expects=REPORT)], key="d")
        many = await queue.add_many([NewTask("review", {"n": n}, expects=REPORT) for n in range(400)])
        await queue.add_schedule("nightly", every=60, task={"type": "review", "tags": ["cron"], "expects": REPORT})
        await elapse(queue, clock, 60)
        ticked = (await queue.find(tag="cron")).items
        assert len(ticked) == 1
        claim = await take(queue)
        [child] = await queue.spawn(claim, [NewTask("review", expects=REPORT)], name="child")
        await queue.set_report("review", ["cost"])
        assert [each.id for each in await queue.spawn(claim, [NewTask("review", expects=REPORT)], name="child")] == [
            child.id
        ]
        assert (await queue.add_dag("D", [NewTask("review", expects=REPORT)], key="d")).id == dag.id
        for task in (*dag.tasks, *many, *ticked, child):
            assert task.expects == {**REPORT, "fields": ["risks"]}

    async def test_what_is_no_report_is_refused(self, queue: Queue) -> None:
        wrong: list[Any] = [("", ["a"], "type"), ("review", [], "fields"), ("review", "a", "fields")]
        for type, fields, field in wrong:
            with pytest.raises(Invalid) as error:
                await queue.set_report(type, fields)
            assert error.value.field == field
        assert await queue.reports() == []
