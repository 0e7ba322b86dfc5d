"""Escalation: what follows when a task keeps failing, rung by rung.

A **ladder** belongs to a dag or to a type; the dag's wins, and a type without one has that of every type (`*`). Each
rung says after how many failed attempts of one life it is due, and what to do then:

- `notify`: an event tells of it (`to` whom).
- `reassign`: the next attempt is for another `agent` or with another `model`.
- `ask`: a person or role (`to`) is asked, and the task waits for the answer instead of being tried again.
- `fail_dag`: the task is a dead letter, and its dag fails, whatever its policy says.

A rung is taken once in a life, with the failure that makes it due, in the order of the ladder; after an `ask` nothing
more is taken with the same failure. `reassign` and `ask` give a task another attempt that has used up its own. Where
none is due then, the next `ask` of the ladder comes early: a question before a dead letter. Three kinds of failure are
not tried again whatever the ladder says: a poison pill, a reason that is not retried (or `retry=False`), and the one
attempt of a task with `max_attempts=1`, which may be started only once. Those rungs are left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import decode, encode

from dibs.errors import Invalid, NotFound
from dibs.model.escalation import Rung
from dibs.model.status import Outcome, Status
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dibs.model.escalation import Escalation

NOTIFY, REASSIGN, ASK, FAIL_DAG = "notify", "reassign", "ask", "fail_dag"
ACTIONS = (NOTIFY, REASSIGN, ASK, FAIL_DAG)
EVERY = "*"
"""The ladder of every type without one of its own."""
KIND = "escalation"
"""The kind of question that a rung asks."""

MAX_RUNGS = 20
MAX_AFTER = 1_000
MAX_QUESTION_CHARS = 10_000
MAX_DEFAULT_BYTES = 64 << 10
MIN_TIMEOUT_S = 1.0
MAX_TIMEOUT_S = 366 * 86_400.0
SHOWN_CHARS = 200

_PARTS = {
    NOTIFY: frozenset({"to"}),
    REASSIGN: frozenset({"agent", "model"}),
    ASK: frozenset({"to", "question", "timeout", "default"}),
    FAIL_DAG: frozenset[str](),
}
_ALL = frozenset({"after", "do"}.union(*_PARTS.values()))
_COUNTED = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.EXPIRED, Outcome.REJECTED})


class Step(Struct, frozen=True):
    """The rungs that a failure takes. `next`: where the task goes because of them; None: where the failure leads."""

    rungs: tuple[Rung, ...] = ()
    next: Status | None = None


_NO_STEP = Step()


def parse(ladder: Any) -> tuple[Rung, ...]:
    """The rungs as they were written, checked: a list of objects, or `Rung`s. Raises Invalid, with the part at fault
    as its field."""
    if not isinstance(ladder, list | tuple) or not ladder:
        raise Invalid(
            'escalation must be a list of rungs such as {"after": 2, "do": "ask", "to": "oncall"}; to have none, clear'
            " it.",
            field="escalation",
        )
    if len(ladder) > MAX_RUNGS:
        raise Invalid(f"escalation has {len(ladder)} rungs; at most {MAX_RUNGS} are allowed.", field="escalation")
    rungs: list[Rung] = []
    for place, written in enumerate(ladder, 1):
        try:
            rung = _rung(written)
            _check_place(rung, rungs)
        except Invalid as error:
            raise Invalid(f"rung {place}: {error.message}", field=error.field) from None
        rungs.append(rung)
    return tuple(rungs)


def as_json(rungs: Sequence[Rung]) -> str:
    """Rungs as stores keep them: equal ones are equal texts."""
    return encode(rungs, order="sorted").decode()


def from_json(text: str | bytes) -> tuple[Rung, ...]:
    """Rungs as they were kept."""
    return decode(text, type=tuple[Rung, ...])


def scope_of(type: Any, dag: Any) -> str:
    """Whose ladder is meant: `type:NAME` or `dag:ID`; exactly one of them must be given."""
    if (type is None) == (dag is None):
        raise Invalid("name a type or a dag, one of them.", field="type" if type is None else "dag")
    if type is not None:
        return f"type:{validation.text(type, 'type')}"
    return f"dag:{validation.text(dag, 'dag')}"


def scopes_for(type: str, dag_id: str) -> tuple[str, ...]:
    """Where a task's ladder is looked for; the first that exists holds."""
    return (f"dag:{dag_id}", f"type:{type}", f"type:{EVERY}")


def no_ladder(scope: str) -> NotFound:
    """There is nothing to show or clear."""
    kind, _, name = scope.partition(":")
    return NotFound(
        f"There is no escalation for the {kind} {name}. `dibs escalation ls` shows the ones there are.", field=kind
    )


def is_failure(outcome: Outcome, *, counts_attempt: bool) -> bool:
    """Whether a claim that ended so is one of the failures that are counted."""
    return counts_attempt and outcome in _COUNTED


def step(
    ladder: Sequence[Rung],
    failures: int,
    taken: Collection[tuple[int, str]],
    *,
    next: Status,
    used_up: bool,
) -> Step:
    """What the failure that is number `failures` of this life takes of a ladder.

    `taken`: (after, do) of the rungs of this life. `next`: where the failure leads without a ladder; `used_up`: it is a
    dead letter only because no attempt is left.
    """
    over = next is Status.DEAD_LETTERED and not used_up
    left = [rung for rung in ladder if (rung.after, rung.do) not in taken]
    due: list[Rung] = []
    for rung in left:
        if rung.after > failures or (over and rung.do in (REASSIGN, ASK)):
            continue
        due.append(rung)
        if rung.do == ASK:
            break
    done = {rung.do for rung in due}
    if used_up and done <= {NOTIFY}:
        early = next_ask(left)
        if early is not None:
            due.append(early)
            done.add(ASK)
    if not due:
        return _NO_STEP
    moved: Status | None = None
    if FAIL_DAG in done:
        moved = Status.DEAD_LETTERED
    elif ASK in done:
        moved = Status.WAITING
    elif REASSIGN in done and used_up:
        moved = Status.READY
    return Step(tuple(due), moved)


def next_ask(rungs: Sequence[Rung]) -> Rung | None:
    """The first of these that asks somebody."""
    return next((rung for rung in rungs if rung.do == ASK), None)


def taken_in(escalations: Sequence[Escalation]) -> set[tuple[int, str]]:
    """What `step` wants to know of the rungs that a task has taken."""
    return {(each.after, each.do) for each in escalations}


def fails_dag(escalations: Sequence[Escalation]) -> bool:
    """Whether a task with these, now a dead letter, fails its dag whatever its policy says."""
    return any(each.do == FAIL_DAG for each in escalations)


def question_id(task_id: str, fence: int) -> str:
    """The id of the question that the failure of this claim led to: derived, so that nobody else makes the same."""
    return f"q_{task_id.removeprefix('task_')}_e{fence}"


def question_name(fence: int) -> str:
    """What tells it apart from the other questions of its task."""
    return f"{KIND}:{fence}"


def question_text(rung: Rung, failures: int, error: str | None) -> str:
    """What a person is asked."""
    if rung.question is not None:
        return rung.question
    return f"Failed attempts: {failures}. The last error: {(error or 'unknown')[:SHOWN_CHARS]} - how shall it go on?"


def event_data(rung: Rung, failures: int, question: str | None) -> dict[str, Any]:
    """What the event of a rung carries beside its action, which is the reason."""
    said = {
        "after": rung.after,
        "failures": failures,
        "to": rung.to,
        "agent": rung.agent,
        "model": rung.model,
        "question": question if rung.do == ASK else None,
    }
    return {name: value for name, value in said.items() if value is not None}


def in_words(rung: Rung | Escalation) -> str:
    """A rung for people: what was, or is to be, done."""
    if rung.do == REASSIGN:
        return f"reassign to agent {rung.agent}" if rung.agent else f"reassign to model {rung.model}"
    if rung.do == FAIL_DAG:
        return "fail the dag"
    return f"{rung.do} {rung.to}" if rung.to else rung.do


def _rung(written: Any) -> Rung:
    """One rung, checked by itself."""
    if isinstance(written, Rung):
        parts = {name: getattr(written, name) for name in Rung.__struct_fields__}
        parts["timeout"] = parts.pop("timeout_s")
        written = {name: value for name, value in parts.items() if value is not None}
    if not isinstance(written, dict):
        raise Invalid('a rung is an object such as {"after": 2, "do": "notify"}.', field="escalation")
    for name in written:
        if name not in _ALL:
            raise Invalid(f"a rung has no {str(name)[:60]!r}; it has {', '.join(sorted(_ALL))}.", field=str(name)[:60])
    after = validation.whole(written.get("after"), "after", 1, MAX_AFTER)
    do = written.get("do")
    if not isinstance(do, str) or do not in ACTIONS:
        raise Invalid(f"do must be one of {', '.join(ACTIONS)}, not {do!r:.80}.", field="do")
    given = {name: value for name, value in written.items() if value is not None}
    for name in sorted(given.keys() - {"after", "do"} - _PARTS[do]):
        raise Invalid(f"{name} does not go with {do}.", field=name)
    if do == REASSIGN and ("agent" in given) == ("model" in given):
        raise Invalid("reassign names an agent or a model, one of them.", field="agent")
    if do == ASK and "to" not in given:
        raise Invalid("ask must say to whom: a person or a role.", field="to")
    named: dict[str, Any] = {
        name: validation.text(given[name], name) for name in ("to", "agent", "model") if name in given
    }
    return Rung(after=after, do=do, **named, **(_asked(given) if do == ASK else {}))


def _asked(given: dict[str, Any]) -> dict[str, Any]:
    """What a rung says of its question."""
    parts: dict[str, Any] = {}
    if "question" in given:
        parts["question"] = validation.text(given["question"], "question", max_chars=MAX_QUESTION_CHARS)
    if "timeout" in given:
        parts["timeout_s"] = validation.duration_s(given["timeout"], "timeout", low=MIN_TIMEOUT_S, high=MAX_TIMEOUT_S)
    if "default" in given:
        if "timeout" not in given:
            raise Invalid(
                "default is the answer after timeout; say how long to wait for a better one.", field="timeout"
            )
        body = validation.json_bytes(given["default"], "default", max_bytes=MAX_DEFAULT_BYTES)
        parts["default"] = decode(body)
    return parts


def _check_place(rung: Rung, below: list[Rung]) -> None:
    """A ladder climbs: each rung belongs after those below it."""
    if not below:
        return
    last = below[-1]
    if last.do == FAIL_DAG:
        raise Invalid("nothing follows fail_dag; make it the last rung.", field="do")
    if rung.after < last.after:
        raise Invalid(f"after must not be less than on the rung before ({last.after}).", field="after")
    beside = {each.do for each in below if each.after == rung.after}
    if rung.do in beside:
        raise Invalid(f"there is another {rung.do} after {rung.after}; one of them is enough.", field="do")
    if ASK in beside or (rung.do == FAIL_DAG and REASSIGN in beside):
        raise Invalid(
            f"after must be more than {rung.after} here: that rung decides how the task goes on.", field="after"
        )
