"""Escalation on PostgreSQL: what its functions repeat of the rules, and what two clients do at once."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from dibs import settling
from dibs.errors import DibsError
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.rules import escalation
from tests.servers.clients import engine_of, every_order, on

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.model.claim import Claim
    from dibs.model.task import Task
    from dibs.queue import Queue

    Verb = Callable[[Queue], Awaitable[Any]]

LADDERS: list[list[dict[str, Any]]] = [
    [{"after": 1, "do": "notify"}, {"after": 1, "do": "reassign", "agent": "a"}, {"after": 3, "do": "fail_dag"}],
    [{"after": 2, "do": "ask", "to": "a"}, {"after": 3, "do": "notify"}, {"after": 3, "do": "ask", "to": "b"}],
    [{"after": 2, "do": "reassign", "model": "m"}, {"after": 4, "do": "ask", "to": "a"}],
    [{"after": 1, "do": "notify"}, {"after": 2, "do": "fail_dag"}],
]
FATES = [(Status.RETRYING, False), (Status.READY, False), (Status.DEAD_LETTERED, True), (Status.DEAD_LETTERED, False)]


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda ladder: "-".join(rung["do"] for rung in ladder))
def test_the_function_takes_of_a_ladder_what_the_rule_takes(postgres_url: str, ladder: list[dict[str, Any]]) -> None:
    rungs = escalation.parse(ladder)

    async def check(queue: Queue) -> None:
        await queue.set_escalation(ladder, type="code")
        await queue.add("code")
        await queue.claim("ada")
        number = await engine_of(queue).value("SELECT n FROM dibs.work")
        for failures, chosen in product(range(1, 5), product([False, True], repeat=len(rungs))):
            taken = [rung for rung, was in zip(rungs, chosen, strict=True) if was]
            known = [{"after": rung.after, "do": rung.do} for rung in taken]
            await engine_of(queue).fetch("UPDATE dibs.work SET attempts = $1", failures - 1)
            await engine_of(queue).fetch(
                "UPDATE dibs.specs SET spec = dibs.spec_with(spec, 'escalations', $1)",
                msgspec.json.encode(known).decode(),
            )
            for next, used_up in FATES:
                more = {"outcome": "failed", "next": next, "used_up": used_up}
                said = msgspec.json.decode(
                    await engine_of(queue).value(
                        "SELECT dibs.climbed($1, $2)::text", number, msgspec.json.encode(more).decode()
                    )
                )
                names = {(rung.after, rung.do) for rung in taken}
                wanted = escalation.step(rungs, failures, names, next=next, used_up=used_up)
                got = [(rung["after"], rung["do"]) for rung in said.get("rungs", [])]
                assert got == [(rung.after, rung.do) for rung in wanted.rungs], (failures, known, next, used_up)
                assert said["next"] == (wanted.next or next), (failures, known, next, used_up)

    on(postgres_url, check)


@pytest.mark.parametrize("name", ["senior", 'Zoë "the" \\ one', "tab\there\nand there", "\u2028 \U0001f600 /"])
def test_a_lane_for_another_agent_or_model_is_the_one_that_new_tasks_of_theirs_are_in(
    postgres_url: str, name: str
) -> None:
    async def lane_of(queue: Queue, task: Task) -> int:
        found = "SELECT w.lane FROM dibs.work w JOIN dibs.specs s ON s.n = w.n WHERE s.id = $1"
        return int(await engine_of(queue).value(found, task.id))

    async def check(queue: Queue) -> None:
        for part in ("agent", "model"):
            await queue.set_escalation([{"after": 1, "do": "reassign", part: name}], type=part)
            moved = await queue.add(part, requires=["b", "a"], boost=0.5, retry="immediate")
            [claim] = await queue.claim("ada", capabilities=["a", "b"])
            await queue.fail(claim, "no")
            meant: dict[str, Any] = {"assignee": name} if part == "agent" else {"models": [name]}
            fresh = await queue.add(part, requires=["a", "b"], boost=0.5, **meant)
            assert await lane_of(queue, moved) == await lane_of(queue, fresh)

    on(postgres_url, check)


def test_a_completion_does_not_look_at_ladders(postgres_url: str) -> None:
    async def check(queue: Queue) -> None:
        await queue.add("code")
        [claim] = await queue.claim("ada")
        # Whoever looked would not find them.
        await engine_of(queue).fetch("ALTER TABLE dibs.ladders RENAME TO away")
        await queue.complete(claim)
        await engine_of(queue).fetch("ALTER TABLE dibs.away RENAME TO ladders")

    on(postgres_url, check)


# Two at once, in every order of their steps.


def failing(claim: Claim) -> Verb:
    return lambda queue: queue.store.settle([settling.failed(claim, "no", draw=0.5)])


async def clear(queue: Queue) -> None:
    """Nothing of this run is in the way of the next."""
    for agent in ("ada", "bob"):
        while claims := await queue.claim(agent, limit=100):
            for claim in claims:
                await queue.complete(claim)


def test_two_who_fail_at_once_are_both_reassigned_to_a_lane_that_is_new_to_both(postgres_url: str) -> None:
    names = iter(f"agent-{number}" for number in range(1000))

    async def prepare(queue: Queue) -> tuple[str, list[Claim]]:
        name = next(names)
        await queue.set_escalation([{"after": 1, "do": "reassign", "agent": name}], type="code")
        dag = await queue.add_dag("Both", [NewTask("code", retry="immediate") for _ in range(2)])
        claims = await queue.claim("ada", limit=2)
        assert {claim.task.dag_id for claim in claims} == {dag.id}
        return name, claims

    async def check(queue: Queue, prepared: tuple[str, list[Claim]], answers: list[Any]) -> None:
        name, claims = prepared
        assert [answer[0].status for answer in answers] == [Status.READY, Status.READY]
        assert await queue.claim("ada") == []
        taken = await queue.claim(name, limit=5)
        assert {claim.task.id for claim in taken} == {claim.task.id for claim in claims}
        for claim in taken:
            await queue.complete(claim)

    every_order(postgres_url, prepare, lambda made: (failing(made[1][0]), failing(made[1][1])), check)


def test_of_two_decisions_about_a_dead_letter_one_holds(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> tuple[str, str]:
        task = await queue.add("code", max_attempts=1)
        [claim] = await queue.claim("ada")
        await queue.fail(claim, "no")
        await queue.review(task.id, "escalated", by="grace", to="ada")
        [question] = await queue.inbox()
        return task.id, question.id

    def verbs(prepared: tuple[str, str]) -> tuple[Verb, Verb]:
        task_id, question_id = prepared

        async def answer(queue: Queue) -> Any:
            try:
                return await queue.store.answer(question_id, b'"drop"', "ada")
            except DibsError as error:
                return error.code

        async def retry(queue: Queue) -> Any:
            try:
                return await queue.store.revive(task_id)
            except DibsError as error:
                return error.code

        return answer, retry

    async def check(queue: Queue, prepared: tuple[str, str], answers: list[Any]) -> None:
        task = await queue.get(prepared[0])
        question = await queue.get_question(prepared[1])
        if isinstance(answers[0], str):
            # It was retried first, which closed the question.
            assert (question.status, task.status) == ("closed", Status.READY)
        else:
            # It was dropped first; whoever retries a cancelled task brings it back.
            assert (question.status, task.status) == ("answered", Status.READY)
            assert [review.resolution for review in task.reviews] == ["escalated", "dropped"]
        assert await queue.inbox() == []
        assert await queue.store.check() == []
        await clear(queue)

    every_order(postgres_url, prepare, verbs, check)
