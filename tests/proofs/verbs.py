"""Every verb of the store contract that changes something, and what saying it twice does. A table to be read.

Each case says what is to be done in a scene (`tests.proofs.scene`). Unless it says otherwise, the same call again
changes nothing: that is what lets a client repeat what was not answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dibs import errors, settling
from dibs.coalescing import with_groups
from dibs.duties import Desk, conclude_one
from dibs.model.artifact import Artifact
from dibs.model.task import NewTask
from dibs.rules import rates
from dibs.rules.breaker import Override
from dibs.rules.closing import Pause
from dibs.rules.windows import Window
from dibs.stores.standing import CLOSED, Standing
from dibs.stores.values import ClaimRequest, Entry, Usage
from dibs.sync import drive
from tests.proofs.scene import SOON_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.model.claim import Claim
    from tests.proofs.scene import Call, Scene

READS = {
    "advise": "a read",
    "agents": "a read",
    "artifacts": "a read",
    "backoffs": "a read",
    "breakers": "a read",
    "budgets": "a read",
    "carry_in": "only while nothing else is said to a store; tests/migrating say it twice, and stop after any call",
    "carry_in_settings": "as carry_in",
    "carry_out": "a read",
    "carry_out_named": "a read",
    "carry_settings": "a read",
    "census": "a read",
    "check": "a read",
    "close": "after it nothing is said any more",
    "connect": "the schema: tests of upgrading cut it short",
    "dag": "a read",
    "dags": "a read",
    "dead_letter_ids": "a read",
    "dead_letters": "a read",
    "documents": "a read",
    "ends": "a read",
    "find": "a read",
    "find_ids": "a read",
    "get": "a read",
    "handed_in": "a read",
    "histories": "a read",
    "history": "a read",
    "inbox": "a read",
    "kept_digests": "a read",
    "ladders": "a read",
    "locks": "a read",
    "metrics": "a read",
    "news": "a read",
    "now": "a read",
    "pauses": "a read",
    "payload_digests": "a read",
    "projects": "a read",
    "questions": "a read",
    "rates": "a read",
    "read_journal": "a read",
    "ready": "a read",
    "spending": "a read",
    "standing": "a read",
    "stats": "a read",
    "type_slots": "a read",
    "wait_for_news": "a read",
}
"""What no fault can harm, and why."""


class Case(NamedTuple):
    """One use of a verb. `prepare` brings it about and answers with the call.

    `again`: what the same call once more is refused with, changing nothing. `adds_up`: why it changes something once
    more, so that nobody may repeat it blindly.
    """

    verb: str
    title: str
    prepare: Callable[[Scene], Call]
    again: type[Exception] | None = None
    adds_up: str | None = None

    def __str__(self) -> str:
        return f"{self.verb}: {self.title}".replace(" ", "-")


CASES: list[Case] = []


def case(
    verb: str, title: str, *, again: type[Exception] | None = None, adds_up: str | None = None
) -> Callable[[Callable[[Scene], Call]], Callable[[Scene], Call]]:
    def note(prepare: Callable[[Scene], Call]) -> Callable[[Scene], Call]:
        CASES.append(Case(verb, title, prepare, again, adds_up))
        return prepare

    return note


# Adding


@case("insert", "tasks with all that a task can have")
def _tasks(scene: Scene) -> Call:
    drafts = [
        NewTask("locked", ref="a", locks=["repo", "new"], key="once"),
        NewTask("paid", ref="b", after=["a"], max_cost=0.2),
        NewTask("plain", after=[scene.tasks["root"].id], approval=True),
        NewTask("plain", after=[scene.tasks["root"].id, scene.tasks["dead-0"].id]),
        NewTask("timed", deadline=600, requires=["gpu"], models=["large"], run_after=SOON_S),
    ]
    return scene.said("insert", lambda queue: queue.add_many(drafts))


@case("insert", "a dag with a budget")
def _dag(scene: Scene) -> Call:
    drafts = [NewTask("a", ref="a"), NewTask("b", after=["a"])]
    return scene.said("insert", lambda queue: queue.add_dag("more", drafts, key="more", budget=2.0))


@case("insert", "children that are waited for")
def _spawn(scene: Scene) -> Call:
    children = [NewTask("child", {"part": 1}, locks=["nest"]), NewTask("child", {"part": 2})]
    return scene.said("insert", lambda queue: queue.spawn(scene.claims["parent"], children, wait=True))


@case("insert", "a value that is large")
def _large(scene: Scene) -> Call:
    return scene.said("insert", lambda queue: queue.add("plain", "x" * 70_000))


# Working


def _claim(scene: Scene, *types: str, **options: Any) -> Call:
    request = ClaimRequest(agent="bob", types=types or None, claim_id="bob-1", lease_s=600, **options)
    return lambda store: store.claim(request)


@case("claim", "whatever there is")
def _anything(scene: Scene) -> Call:
    return _claim(scene, limit=20)


@case("claim", "locks, of which some must wait")
def _locks(scene: Scene) -> Call:
    scene.queue.complete(scene.claims["locked"])
    return _claim(scene, "locked", limit=5)


@case("claim", "a budget, of which some must wait")
def _reserve(scene: Scene) -> Call:
    scene.queue.add("paid", priority=1)
    scene.queue.add("paid", priority=2)
    scene.queue.complete(scene.claims["paid-0"], cost=0.1)
    return _claim(scene, "paid", limit=5, start=False)


@case("claim", "a probe")
def _probe(scene: Scene) -> Call:
    scene.clock.advance(6)
    return _claim(scene, "broken", limit=5)


@case("claim", "of a type as many as may run, and be handed out")
def _few(scene: Scene) -> Call:
    scene.queue.set_slots(type="few", slots=3)
    scene.queue.set_rate("few", "2/min")
    scene.queue.add_many([NewTask("few") for _ in range(4)])
    return _claim(scene, "few", limit=5)


def _gather(scene: Scene) -> None:
    for window in (0, 0, SOON_S):
        scene.queue.add("note", coalesce_key="room", coalesce_window=window)


@case("claim", "a group, with who still gathers")
def _group(scene: Scene) -> Call:
    _gather(scene)
    return _claim(scene, "note")


@case("claim", "what its agent can pay for")
def _affordable(scene: Scene) -> Call:
    scene.queue.set_budget("agent:bob", 0.5)
    scene.queue.add_many([NewTask("dear", max_cost=cost) for cost in (0.4, 0.4, 0.1)])
    return _claim(scene, "dear", limit=5)


def _spend_a_day(scene: Scene) -> None:
    """A budget per day is used up, somebody waits for it, and the day ends."""
    scene.queue.set_budget("type:daily", 1.0, default_reserve=1.0, window="day")
    scene.queue.add_many([NewTask("daily") for _ in range(2)])
    scene.queue.complete(scene.take("daily", "daily"), cost=1.0)
    scene.find_nothing("daily")
    scene.clock.advance(86_400)


@case("claim", "on a new day")
def _new_day(scene: Scene) -> Call:
    _spend_a_day(scene)
    return _claim(scene, "daily", limit=5)


def _save(scene: Scene) -> None:
    """Somebody has waited long for a budget that others use."""
    scene.queue.set_budget("user:grace", 1.0)
    scene.add("busy", "busy", user="grace", max_cost=0.6)
    scene.take("busy", "busy")
    scene.add("bulky", "bulky", user="grace", max_cost=0.5)
    scene.find_nothing("bulky")
    scene.clock.advance(100)


@case("claim", "what a budget was saved for")
def _saved(scene: Scene) -> Call:
    _save(scene)
    scene.world.read(scene.store.unpark(100))
    scene.add("slim", "bulky", user="grace", max_cost=0.5)
    scene.queue.complete(scene.claims["busy"], cost=0.5)
    return _claim(scene, "bulky", limit=5)


@case("start", "what was only claimed")
def _start(scene: Scene) -> Call:
    return scene.said("start", lambda queue: queue.start(scene.claims["paid-1"]))


@case("renew", "with what it cost")
def _renew(scene: Scene) -> Call:
    return scene.said("renew", lambda queue: queue.renew(scene.claims["paid-0"], lease=900, cost=0.3))


@case("renew", "with a note", adds_up="a note is an event, and nothing tells two equal ones apart")
def _note(scene: Scene) -> Call:
    return scene.said("renew", lambda queue: queue.renew(scene.claims["paid-0"], note="half"))


@case("write_journal", "a step and a checkpoint")
def _journal(scene: Scene) -> Call:
    entries = [Entry(kind="step", name="paid", digest="d", value=b"1"), Entry(kind="checkpoint", value=b"2")]
    return scene.said("write_journal", lambda queue: queue.record(scene.claims["locked"], entries))


@case("write_journal", "a log line", adds_up="nothing tells two equal lines apart")
def _log(scene: Scene) -> Call:
    return scene.said("write_journal", lambda queue: queue.log(scene.claims["locked"], "line"))


@case("put_artifact", "that is new")
def _artifact(scene: Scene) -> Call:
    claim = scene.claims["locked"]
    artifact = Artifact(name="report", digest="sha256:" + "0" * 64, size=3)
    return lambda store: store.put_artifact(claim.task.id, claim.fence, artifact)


# Settling


@case("settle", "rate-limited, and its provider's gate is closed")
def _limited(scene: Scene) -> Call:
    error = "429 too many requests, retry-after: 30"
    return scene.said("settle", lambda queue: queue.fail(scene.claims["paid-0"], error, reason="rate_limit"))


@case("settle", "completed, and a lock is free")
def _completed(scene: Scene) -> Call:
    return scene.said("settle", lambda queue: queue.complete(scene.claims["locked"], {"x": 1}))


@case("settle", "completed, and a budget is charged")
def _charged(scene: Scene) -> Call:
    return scene.said("settle", lambda queue: queue.complete(scene.claims["paid-0"], cost=0.1, tokens_in=10))


@case("settle", "failed at an unknown cost, and tried again")
def _unpriced(scene: Scene) -> Call:
    return scene.said("settle", lambda queue: queue.fail(scene.claims["paid-0"], "no"))


@case("settle", "released")
def _released(scene: Scene) -> Call:
    return scene.said("settle", lambda queue: queue.release(scene.claims["paid-1"]))


@case("settle", "a root that dead-letters")
def _dead(scene: Scene) -> Call:
    return scene.said("settle", lambda queue: queue.fail(scene.claims["root"], "no", retry=False))


@case("settle", "a root that completes")
def _opened(scene: Scene) -> Call:
    return scene.said("settle", lambda queue: queue.complete(scene.claims["root"]))


@case("settle", "a failure that opens a breaker")
def _trip(scene: Scene) -> Call:
    return scene.said("settle", lambda queue: queue.fail(scene.claims["frail"], "it broke"))


@case("settle", "a probe that succeeds")
def _proved(scene: Scene) -> Call:
    return scene.said("settle", lambda queue: queue.complete(scene.claims["probe"]))


@case("settle", "a probe that fails")
def _disproved(scene: Scene) -> Call:
    return scene.said("settle", lambda queue: queue.fail(scene.claims["probe"], "it broke"))


@case("settle", "what was cancelled meanwhile")
def _recalled(scene: Scene) -> Call:
    settlement = settling.completed(scene.claims["recalled"], None, usage=Usage(cost_usd=0.1))
    return lambda store: store.settle([settlement])


@case("settle", "a lease that is over")
def _expired(scene: Scene) -> Call:
    scene.clock.advance(SOON_S + 1)
    over = scene.world.read(scene.store.expired(100))
    settlements = [settling.expired(each, draw=0.5) for each in over]
    assert settlements
    return lambda store: store.settle(settlements)


@case("settle", "many at once")
def _many(scene: Scene) -> Call:
    done = [settling.completed(scene.claims[name], 1) for name in ("locked", "paid-0", "paid-1", "root", "probe")]
    return lambda store: store.settle(done)


@case("settle", "a group")
def _grouped(scene: Scene) -> Call:
    _gather(scene)
    done = [settling.completed(each, 1) for each in with_groups([scene.take("note", "note")])]
    return lambda store: store.settle(done)


def _work(scene: Scene, **expects: Any) -> Claim:
    scene.queue.add("poem", expects=expects)
    return scene.take("poem", "poem")


def _judged_work(scene: Scene) -> Claim:
    return _work(scene, validation="judge", rubric="It rhymes.")


@case("settle", "handed in, to be judged")
def _handed_in(scene: Scene) -> Call:
    claim = _judged_work(scene)
    return scene.said("settle", lambda queue: queue.complete(claim, "a poem", cost=0.1))


def _concluded(scene: Scene, verdict: str) -> Call:
    claim = _judged_work(scene)
    scene.queue.complete(claim, "a poem")
    [judge] = scene.queue.claim("bob", types=["judge"], capabilities=["judge"], lease=600)
    scene.world.read(scene.store.settle([settling.completed(judge, {"verdict": verdict, "reason": "so it is"})]))
    return scene.said("settle", lambda queue: conclude_one(Desk(queue.store, draw=queue.draw), claim.task.id))


@case("settle", "work that was found good")
def _accepted(scene: Scene) -> Call:
    return _concluded(scene, "pass")


@case("settle", "work that was found wanting")
def _rejected(scene: Scene) -> Call:
    return _concluded(scene, "fail")


@case("await_verdict", "of a judge that was sent for")
def _await_verdict(scene: Scene) -> Call:
    claim = _judged_work(scene)
    return scene.said("await_verdict", lambda queue: queue.complete(claim, "a poem"))


def _climb(scene: Scene) -> None:
    ladder = [{"after": 1, "do": "notify"}, {"after": 1, "do": "ask", "to": "oncall"}]
    scene.queue.set_escalation(ladder, type="paid")


@case("settle", "a failure that climbs")
def _climbing(scene: Scene) -> Call:
    _climb(scene)
    return scene.said("settle", lambda queue: queue.fail(scene.claims["paid-0"], "no", cost=0.1))


@case("settle", "a failure that fails its dag")
def _falling(scene: Scene) -> Call:
    scene.queue.set_escalation([{"after": 1, "do": "fail_dag"}], dag=scene.dag)
    return scene.said("settle", lambda queue: queue.fail(scene.claims["root"], "no"))


# People


@case("ask", "with a lock that is let go")
def _ask(scene: Scene) -> Call:
    return scene.said("ask", lambda queue: queue.ask(scene.claims["asking"], "Really?", timeout=600))


@case("ask", "whether work is good", again=errors.LeaseLost)
def _ask_to_judge(scene: Scene) -> Call:
    claim = _work(scene, validation="human", assignee="grace")
    return scene.said("ask", lambda queue: queue.complete(claim, "a poem"))


@case("answer", "that work is good")
def _find_good(scene: Scene) -> Call:
    scene.queue.complete(_work(scene, validation="human", assignee="grace"), "a poem")
    return scene.said("answer", lambda queue: queue.answer(_asked(scene, "validation"), True, by="grace"))


@case("answer", "what became of a failure that climbed")
def _go_on(scene: Scene) -> Call:
    _climb(scene)
    scene.queue.fail(scene.claims["paid-0"], "no", cost=0.1)
    return scene.said("answer", lambda queue: queue.answer(_asked(scene, "escalation"), "again", by="grace"))


@case("answer", "what shall become of a dead letter")
def _decide(scene: Scene) -> Call:
    scene.queue.review(scene.tasks["dead-0"], "escalated", by="grace", to="oncall")
    return scene.said("answer", lambda queue: queue.answer(_asked(scene, "decision"), "retry", by="ada"))


def _asked(scene: Scene, kind: str) -> str:
    [question] = [each.id for each in scene.queue.inbox() if each.kind == kind]
    return str(question)


@case("answer", "a question")
def _answer(scene: Scene) -> Call:
    return scene.said("answer", lambda queue: queue.answer(scene.questions["choice"], "blue", by="grace"))


@case("answer", "an approval")
def _approve(scene: Scene) -> Call:
    return scene.said("answer", lambda queue: queue.answer(scene.questions["approval"], True))


@case("answer", "a refusal")
def _refuse(scene: Scene) -> Call:
    return scene.said("answer", lambda queue: queue.answer(scene.questions["approval"], False))


@case("lapse", "with a default and without")
def _lapse(scene: Scene) -> Call:
    scene.clock.advance(SOON_S + 1)
    return lambda store: store.lapse(100)


# Steering


@case("cancel", "somebody who holds locks")
def _cancel_held(scene: Scene) -> Call:
    return lambda store: store.cancel(scene.tasks["locked"].id, "stop")


@case("cancel", "somebody who is parked")
def _cancel_parked(scene: Scene) -> Call:
    return lambda store: store.cancel(scene.tasks["parked-0"].id, None)


@case("cancel", "somebody who waits for an answer")
def _cancel_waiting(scene: Scene) -> Call:
    return lambda store: store.cancel(scene.tasks["unanswered"].id, None)


@case("cancel", "a dag")
def _cancel_dag(scene: Scene) -> Call:
    return lambda store: store.cancel(scene.dag.id, None)


@case("spread", "what follows from a question that nobody answered")
def _spread(scene: Scene) -> Call:
    scene.clock.advance(SOON_S + 1)
    scene.world.read(scene.store.lapse(100))
    return lambda store: store.spread()


@case("revive", "a dead letter and whom it bereaved", again=errors.IllegalTransition)
def _revive(scene: Scene) -> Call:
    return lambda store: store.revive(scene.tasks["dead-0"].id, keep_steps=False)


def _dead_ids(scene: Scene) -> list[str]:
    return [scene.tasks[f"dead-{number}"].id for number in range(3)]


@case("review", "many that are tried again")
def _retry_all(scene: Scene) -> Call:
    return scene.said("review", lambda queue: queue.review_many(_dead_ids(scene), "retried", by="grace"))


@case("review", "many that are dropped")
def _drop_all(scene: Scene) -> Call:
    return scene.said("review", lambda queue: queue.review_many(_dead_ids(scene), "dropped", by="grace", note="old"))


@case("review", "many that are kept", adds_up="every decision that leaves a dead letter as it is stands by itself")
def _keep_all(scene: Scene) -> Call:
    return scene.said("review", lambda queue: queue.review_many(_dead_ids(scene), "kept", by="grace"))


@case("review", "many that somebody is asked about", adds_up="every decision that leaves one stands by itself")
def _escalate_all(scene: Scene) -> Call:
    return scene.said("review", lambda queue: queue.review_many(_dead_ids(scene), "escalated", by="grace", to="oncall"))


@case("link", "to somebody who is not done")
def _link(scene: Scene) -> Call:
    return scene.said("link", lambda queue: queue.link(scene.tasks["parked-0"], after=[scene.tasks["root"]]))


@case("pause", "a type")
def _pause(scene: Scene) -> Call:
    return lambda store: store.pause("default", Pause(scope="type", name="plain", reason="tea"))


@case("pause", "everything, for a while")
def _pause_all(scene: Scene) -> Call:
    until = scene.clock() + 1_000_000
    return lambda store: store.pause("default", Pause(scope="everything", name="", until=until))


@case("resume", "a type")
def _resume(scene: Scene) -> Call:
    return lambda store: store.resume("default", Pause(scope="type", name="stopped").gate)


@case("resume", "what a rate limit closed")
def _reopen(scene: Scene) -> Call:
    scene.queue.fail(scene.claims["paid-0"], "429 too many requests, retry-after: 300", reason="rate_limit")
    [gate] = [each.gate for each in scene.queue.gates() if each.gate.startswith("limit:")]
    return lambda store: store.resume("default", gate)


@case("set_ladder", "of a type")
def _set_ladder(scene: Scene) -> Call:
    return scene.said("set_ladder", lambda queue: queue.set_escalation([{"after": 2, "do": "notify"}], type="paid"))


@case("set_ladder", "of a dag, which is forgotten")
def _forget_ladder(scene: Scene) -> Call:
    scene.queue.set_escalation([{"after": 1, "do": "fail_dag"}], dag=scene.dag)
    return scene.said("set_ladder", lambda queue: queue.clear_escalation(dag=scene.dag))


@case("set_breaker", "off, which closes it")
def _switch_off(scene: Scene) -> Call:
    return lambda store: store.set_breaker("default", "broken", Override(enabled=False))


@case("set_breaker", "for every type")
def _switch_on(scene: Scene) -> Call:
    return lambda store: store.set_breaker("default", "*", Override(enabled=True, failure_threshold=2))


@case("steer_breaker", "open")
def _open(scene: Scene) -> Call:
    return lambda store: store.steer_breaker("default", "plain", "open", "by hand")


@case("steer_breaker", "closed")
def _close(scene: Scene) -> Call:
    return lambda store: store.steer_breaker("default", "broken", "close", None)


@case("steer_breaker", "reset")
def _reset(scene: Scene) -> Call:
    return lambda store: store.steer_breaker("default", "probed", "reset", None)


@case("reassign", "somebody who is parked")
def _reassign(scene: Scene) -> Call:
    return lambda store: store.reassign(scene.tasks["parked-2"].id, "somebody")


@case("reprioritise", "somebody who is parked")
def _reprioritise(scene: Scene) -> Call:
    return lambda store: store.reprioritise(scene.tasks["parked-2"].id, 1)


@case("retag", "somebody who is parked")
def _retag(scene: Scene) -> Call:
    return lambda store: store.retag(scene.tasks["parked-2"].id, ["new"], ["old"])


# Agents


@case("register_agent", "nobody knew")
def _register(scene: Scene) -> Call:
    return scene.said("register_agent", lambda queue: queue.register_agent("eve", capabilities=["gpu"]))


@case("drain_agent", "that holds something")
def _drain(scene: Scene) -> Call:
    return lambda store: store.drain_agent("default", "ada")


@case("drain_agent", "that holds nothing")
def _drain_idle(scene: Scene) -> Call:
    return lambda store: store.drain_agent("default", "spare")


@case("unregister_agent", "with a reason")
def _unregister(scene: Scene) -> Call:
    return lambda store: store.unregister_agent("default", "spare", "moved")


@case("watch_agents", "who were not heard of")
def _watch(scene: Scene) -> Call:
    scene.queue.drain_agent("mortal")
    scene.clock.advance(100)
    return lambda store: store.watch_agents()


# Time


@case("elect", "duties that are due")
def _elect(scene: Scene) -> Call:
    scene.clock.advance(100)
    return lambda store: store.elect({"sweep": 10.0, "promote": 1.0})


@case("postpone", "a duty")
def _postpone(scene: Scene) -> Call:
    return lambda store: store.postpone("sweep", 5.0)


@case("promote", "what is due, and what time opens")
def _promote(scene: Scene) -> Call:
    scene.queue.pause("timed", until=10)
    scene.clock.advance(SOON_S + 1)
    return lambda store: store.promote(100)


@case("promote", "a new day")
def _promote_day(scene: Scene) -> Call:
    _spend_a_day(scene)
    return lambda store: store.promote(100)


@case("expired", "what was cancelled while it was held")
def _over(scene: Scene) -> Call:
    scene.clock.advance(SOON_S + 1)
    return lambda store: store.expired(100)


@case("rerank", "deadlines that come nearer")
def _rerank(scene: Scene) -> Call:
    scene.clock.advance(900)
    return lambda store: store.rerank(100)


@case("overdue", "one that is to be cancelled then")
def _overdue(scene: Scene) -> Call:
    scene.clock.advance(SOON_S + 1)
    return lambda store: store.overdue(100)


@case("prune", "what ended long ago")
def _prune(scene: Scene) -> Call:
    scene.queue.review(scene.tasks["dead-0"], "dropped", by="grace")
    scene.clock.advance(60)
    return lambda store: store.prune(30.0, 100)


@case("unpark", "who was passed over")
def _unpark(scene: Scene) -> Call:
    scene.clock.advance(100)
    return lambda store: store.unpark(100)


@case("unpark", "who was passed over by those who need less")
def _unpark_saving(scene: Scene) -> Call:
    _save(scene)
    return lambda store: store.unpark(100)


# Slots and rates of types


@case("set_type_slots", "that are new")
def _type_slots(scene: Scene) -> Call:
    return lambda store: store.set_type_slots("default", "paid", 1)


@case("set_type_slots", "that are taken away")
def _any_slots(scene: Scene) -> Call:
    scene.queue.set_slots(type="paid", slots=1)
    return lambda store: store.set_type_slots("default", "paid", None)


@case("set_rate", "that is new")
def _rate(scene: Scene) -> Call:
    return lambda store: store.set_rate("default", "plain", rates.parse("3/min"))


@case("set_rate", "that is slower")
def _slower(scene: Scene) -> Call:
    scene.queue.set_rate("few", "3/min")
    scene.queue.add("few")
    scene.take("few", "few")
    return lambda store: store.set_rate("default", "few", rates.parse("1/hour"))


# Documents


@case("write_document", "whatever it was", adds_up="it has one version more")
def _document(scene: Scene) -> Call:
    return lambda store: store.write_document("default", "note", "a", b"1")


@case("write_document", "that is new", again=errors.Conflict)
def _new_document(scene: Scene) -> Call:
    return lambda store: store.write_document("default", "note", "a", b"1", 0)


@case("write_document", "in the place of one that was read", again=errors.Conflict)
def _next_document(scene: Scene) -> Call:
    version = drive(scene.store.write_document("default", "note", "a", b"1"))
    return lambda store: store.write_document("default", "note", "a", b"2", version)


@case("write_document", "that goes")
def _no_document(scene: Scene) -> Call:
    drive(scene.store.write_document("default", "note", "a", b"1"))
    return lambda store: store.write_document("default", "note", "a", None)


@case("tell", "of something that happened", adds_up="said twice, it is told twice")
def _tell(scene: Scene) -> Call:
    return lambda store: store.tell("default", "hook.disabled", reason="gone", data={"hook": "ci"})


# Locks and budgets


@case("set_slots", "more, and somebody gets in")
def _slots(scene: Scene) -> Call:
    return lambda store: store.set_slots("default", "repo", 3)


@case("set_budget", "that is new, and counts who works")
def _new_budget(scene: Scene) -> Call:
    return lambda store: store.set_budget("default", "global", "usd", 2_000_000, 100_000)


@case("set_budget", "with more in it")
def _change_budget(scene: Scene) -> Call:
    return lambda store: store.set_budget("default", "type:paid", "usd", 1_300_000, 400_000)


@case("set_budget", "of an agent, that counts what it holds")
def _agent_budget(scene: Scene) -> Call:
    return lambda store: store.set_budget("default", "agent:ada", "usd", 2_000_000, 100_000)


@case("set_budget", "whose day is over")
def _change_day(scene: Scene) -> Call:
    _spend_a_day(scene)
    return lambda store: store.set_budget("default", "type:daily", "usd", 2_000_000, 1_000_000, Window("day", "UTC"))


@case("raise_budget", "by some", adds_up="what is added twice is twice as much")
def _raise_budget(scene: Scene) -> Call:
    return lambda store: store.raise_budget("default", "type:paid", "usd", 500_000)


@case("remove_budget", "that others wait for", again=errors.NotFound)
def _remove_budget(scene: Scene) -> Call:
    return lambda store: store.remove_budget("default", "type:paid", "usd")


# Moving elsewhere


@case("stand", "open again, with whole leases")
def _open_again(scene: Scene) -> Call:
    drive(scene.store.stand(Standing(state=CLOSED, peer="there")))
    return lambda store: store.stand(Standing())


# Events: some stores number them when they are first read


@case("events", "that nobody has read")
def _events(scene: Scene) -> Call:
    return lambda store: store.events(0, 1_000)


@case("last_seq", "of events that nobody has read")
def _last_seq(scene: Scene) -> Call:
    return lambda store: store.last_seq()
