"""Why a ready task is not handed out although somebody could do it: pauses and circuit breakers."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from dibs.model.instants import from_micros, to_micros
from dibs.model.status import Status
from dibs.model.task import Task
from dibs.model.views import Agent, Lane, TypeRate, TypeSlots, Why
from dibs.rules.breaker import HEALTHY, Record, State
from dibs.rules.closing import Pause
from dibs.rules.providers import Backoff
from dibs.rules.why import explain

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW = to_micros(NOON)
TASK = Task(id="task_1", type="code", status=Status.READY)
ADA = Agent(id="ada", heard_at=NOON)


def ask(*pauses: Pause, agents: tuple[Agent, ...] = (ADA,), breaker: Record | None = None) -> Why:
    return explain(TASK, NOW, agents=agents, pauses=pauses, breaker=breaker)


def test_a_paused_type_says_who_why_until_when_and_what_helps() -> None:
    pause = Pause(scope="type", name="code", until=NOW + 600_000_000, reason="broken", by="human:grace")
    why = ask(pause)
    assert why.explanation == "It is ready, but type code is paused by human:grace (broken); it goes on in 10 min."
    [blocker] = why.blockers
    assert (blocker.kind, blocker.ids, blocker.help) == ("gate", ["type:code"], "dibs resume --type code")


def test_pauses_of_something_else_do_not_matter() -> None:
    lane = Lane(id=4, type="code", requires=("gpu",), boost=TASK.boost)
    others = [
        Pause(scope="type", name="lint"),
        Pause(scope="lane", name="4", lane=lane),
        Pause(scope="agent", name="x"),
    ]
    assert ask(*others, breaker=HEALTHY).blockers == []


def test_everything_and_its_lane_are_told_together() -> None:
    lane = Lane(id=4, type="code", boost=TASK.boost)
    why = ask(Pause(scope="everything"), Pause(scope="lane", name="4", lane=lane))
    assert why.explanation == "It is ready, but everything is paused and lane 4 is paused."
    assert [blocker.help for blocker in why.blockers] == ["dibs resume --everything", "dibs resume --lane 4"]


def test_a_breaker_says_what_it_counted_and_when_it_tries_again() -> None:
    opened = Record(state=State.OPEN, due_at=NOW + 30_000_000, reason="5 failed attempts in a row")
    [blocker] = ask(breaker=opened).blockers
    assert blocker.detail == (
        "the circuit breaker of type code is not closed (5 failed attempts in a row); it lets one task through in 30 s"
    )
    assert blocker.help == "dibs breaker close code"
    [blocker] = ask(breaker=Record(state=State.HALF_OPEN, reason="down", probe=("task_2", 1))).blockers
    assert blocker.detail.endswith("(down; half-open, its probe is task_2)")


def test_agents_that_could_do_it_are_all_paused_or_not() -> None:
    bob = Agent(id="bob", heard_at=NOON)
    paused = Pause(scope="agent", name="ada")
    assert ask(paused, agents=(ADA, bob)).blockers == []
    why = ask(paused)
    assert why.explanation == "It is ready, but every live agent that could do it is paused."
    assert [(blocker.kind, blocker.help) for blocker in why.blockers] == [("gate", "dibs resume --agent ada")]


def limited(task: Task, *gates: str) -> Why:
    limits = {gate: Backoff(limits=1, since=NOW, until=NOW + 30_000_000) for gate in gates}
    return explain(task, NOW, agents=(ADA,), limits=limits)


def test_a_rate_limit_says_whose_it_is_and_when_work_goes_on() -> None:
    why = limited(TASK, "limit:code", "provider:acme")
    assert why.explanation == (
        "It is ready, but whoever serves type code turned work away (rate limit); it goes on in 30 s."
    )
    [blocker] = why.blockers
    assert (blocker.kind, blocker.ids) == ("gate", ["limit:code"])
    assert blocker.help == "dibs resume --limit code, or wait: it opens by itself"


def test_a_task_with_another_model_left_does_not_wait_for_a_limit() -> None:
    task = replace(TASK, models=("claude-sonnet-4", "gpt-5"))
    assert limited(task, "provider:anthropic").blockers == []
    both = limited(task, "provider:anthropic", "provider:openai")
    assert [blocker.ids for blocker in both.blockers] == [["provider:anthropic"], ["provider:openai"]]


def test_a_paused_lane_of_another_provider_does_not_matter() -> None:
    lane = Lane(id=4, type="code", boost=TASK.boost, provider="acme")
    assert ask(Pause(scope="lane", name="4", lane=lane)).blockers == []


def test_a_full_type_says_how_many_run() -> None:
    full, roomy = TypeSlots(type="code", slots=3, held=3), TypeSlots(type="lint", slots=1, held=1)
    why = explain(TASK, NOW, agents=[ADA], slots=[full, roomy])
    assert why.explanation == "It is ready, but 3 of 3 tasks of this type run."
    [blocker] = why.blockers
    assert (blocker.kind, blocker.ids, blocker.until) == ("gate", ["slots:code"], None)
    assert blocker.help == "wait for one to end, or let more run: dibs slots --type code 4"
    assert explain(TASK, NOW, agents=[ADA], slots=[roomy, replace(full, held=2)]).blockers == []


def test_a_type_without_a_token_says_when_there_is_one() -> None:
    empty = TypeRate(type="code", amount=10, per_s=60.0, burst=10, opens_at=from_micros(NOW + 6_000_000))
    other = replace(empty, type="lint")
    why = explain(TASK, NOW, agents=[ADA], rates=[other, empty])
    assert why.explanation == (
        "It is ready, but no more tasks of type code are handed out just now (its rate is 10/min); the next one in 6 s."
    )
    [blocker] = why.blockers
    assert (blocker.kind, blocker.ids, blocker.until) == ("gate", ["rate:code"], empty.opens_at)
    assert explain(TASK, NOW, agents=[ADA], rates=[other, replace(empty, left=1, opens_at=None)]).blockers == []
    unsaid = explain(TASK, NOW, agents=[ADA], rates=[replace(empty, opens_at=None)])
    assert unsaid.explanation.endswith("just now (its rate is 10/min).")
