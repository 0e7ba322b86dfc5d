"""What most calls are, in one script each: adding standalone tasks, claiming where no gate is, renewing, completing.

The scripts do to a plain task what the ledger does, and say so when they meet another; then the ledger does it. What
they need to know of lanes and gates is remembered here, with its version: a script refuses when that is no longer true.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from dibs.model.claim import News, Settled
from dibs.model.instants import from_micros
from dibs.rules import agents as agent_rules
from dibs.rules import closing, matching
from dibs.stores import agents as standing
from dibs.stores.ledger import pausing, providers, registry
from dibs.stores.ledger.claiming import may_serve
from dibs.stores.ledger.snapshots import claim_of
from dibs.stores.plain import is_typical, snapshots
from dibs.stores.redis import layout
from dibs.stores.redis.handing import Handing
from dibs.stores.redis.packing import packed_kinds
from dibs.stores.redis.scripting import script
from dibs.stores.specs import bare_spec_of
from dibs.stores.standing import OPEN
from dibs.stores.values import Claimed, LaneKey, Offer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.model.claim import Claim
    from dibs.model.task import Task
    from dibs.stores.redis.engine import Engine, Line
    from dibs.stores.redis.keys import Keys
    from dibs.stores.redis.working import Working
    from dibs.stores.values import ClaimRequest, Draft, Renewal, Settlement

    Look = Callable[[Callable[[Any], Any]], Any]

MOST_AT_ONCE = 1000
"""How many tasks one script adds: nobody else is served meanwhile."""
NEVER = 1 << 62
UNKNOWN = b"unknown"
_ASKS = 20
"""How often a script is told the newest gates before the ledger does it."""
BUSY_S = 2.0
"""How long a script waits for whoever has the turn."""


class Way(Struct):
    """What an agent claims from: (lane, boost, model) each. None: its claims are the ledger's."""

    lanes: list[tuple[int, float, str]] | None
    until: int
    """When this must be looked at again."""


class Gates(Struct):
    """What is known of a namespace, as of a version."""

    version: bytes = UNKNOWN
    numbers: dict[LaneKey, int] = field(default_factory=dict)
    lanes: dict[int, LaneKey] = field(default_factory=dict)
    completes: bool = False
    """Whether completing says nothing to breakers, providers and budgets."""
    ways: dict[Any, Way] = field(default_factory=dict)


class Quick:
    """The quick ways of one store. Each answers None where the ledger must."""

    def __init__(
        self, engine: Engine, keys: Keys, step: Look, look: Look, now: Callable[[], int], *, fake: bool
    ) -> None:
        self._engine = engine
        self._keys = keys
        self._step = step
        self._look = look
        self._now = now
        self._fake = fake
        self._gates = Gates()
        self._heard: dict[bytes, int] = {}
        """When agents that renew were last written down."""

    # Adding

    def insert(self, drafts: list[Draft]) -> list[Task]:
        """Add those that are ready at once, in order, until one portion cannot be; the tasks that were added."""
        tasks: list[Task] = []
        for start in range(0, len(drafts), MOST_AT_ONCE):
            portion = drafts[start : start + MOST_AT_ONCE]
            at = self._add(portion) if all(map(_is_usual, portion)) else None
            if at is None:
                break
            tasks += snapshots(portion, at)
        return tasks

    def _add(self, drafts: list[Draft]) -> int | None:
        def arguments(gates: Gates) -> list[str | bytes | int | float] | None:
            kinds: list[list[Any]] = []
            known: dict[int, int] = {}
            tasks: list[str | bytes | int | float] = [msgspec.json.encode([draft.task.id for draft in drafts])]
            for draft in drafts:
                place = known.get(id(draft.kind))
                if place is None:
                    number = gates.numbers.get(draft.lane)
                    if number is None:
                        self._open_lanes(drafts)
                        return None
                    kinds.append(_kind(draft, number))
                    place = known[id(draft.kind)] = len(kinds)
                task = draft.task
                tasks += (task.id, place, bare_spec_of(draft), bytes(draft.payload))
            return [packed_kinds(kinds), *tasks]

        reply = self._call("add", arguments)
        if reply is None:
            return None
        return int(float(reply[1]))

    def _open_lanes(self, drafts: list[Draft]) -> None:
        """Give lanes that are new their numbers."""

        def open_lanes(state: Working) -> None:
            for lane in dict.fromkeys(draft.lane for draft in drafts):
                state.lane_ids.setdefault(lane, len(state.lane_ids) + 1)

        self._step(open_lanes)

    # Claiming

    def claim(self, request: ClaimRequest) -> Claimed | None:
        """Hand out the best tasks of open lanes."""
        if request.claim_id is not None or request.limit < 1:
            return None

        models: dict[int, str] = {}

        def arguments(gates: Gates) -> list[str | bytes | int | float] | None:
            way = self._way(gates, request)
            if not way.lanes:
                return None
            models.update((number, model) for number, _, model in way.lanes)
            lanes = [part for lane in way.lanes for part in lane]
            start = "1" if request.start else ""
            return [request.agent, request.limit, repr(request.lease_s), start, request.max_bytes, *lanes]

        reply = self._call("claim", arguments)
        if reply is not None and reply[0] == b"done":
            return self._claimed_before(request, reply[2])
        if reply is None or len(reply) == 2:
            # Nothing is there: the ledger knows when something will be.
            return None
        handing = Handing(request, int(reply[1]), self._gates.lanes, models)
        return Claimed(claims=[handing.claim(values) for values in reply[2:]])

    def _claimed_before(self, request: ClaimRequest, taken: bytes) -> Claimed:
        """What a claim took whose answer was lost on the way."""
        ids = msgspec.json.decode(taken, type=list[str])

        def held(state: Working) -> list[Claim]:
            records = [state.tasks[task_id] for task_id in ids if task_id in state.tasks]
            return [claim_of(state, record) for record in records if record.held and record.agent == request.agent]

        return Claimed(claims=self._look(held))

    def _way(self, gates: Gates, request: ClaimRequest) -> Way:
        name = (request.project, request.agent, request.capabilities, request.types, request.models)
        way = gates.ways.get(name)
        if way is None or way.until <= self._now():
            if len(gates.ways) > 1000:
                gates.ways.clear()
            way = gates.ways[name] = self._look(lambda state: _way_of(state, request))
        return way

    # Renewing

    def renew(self, renewals: Sequence[Renewal]) -> list[News] | None:
        """Extend leases. Whoever renews is heard of, too."""
        if not renewals or not all(_only_renews(renewal) for renewal in renewals):
            return None

        def arguments(gates: Gates) -> list[str | bytes | int | float] | None:
            if not gates.completes:
                return None
            return [
                part
                for renewal in renewals
                for part in (renewal.task_id, renewal.fence, "" if renewal.lease_s is None else repr(renewal.lease_s))
            ]

        reply = self._call("renew", arguments)
        if reply is None or reply[0] == b"done":
            return None
        self._hear(renewals, reply[3::2])
        return [News(lease_expires_at=from_micros(int(ends))) for ends in reply[2::2]]

    def _hear(self, renewals: Sequence[Renewal], agents: Sequence[bytes]) -> None:
        """Write down who was heard of, as often as that is worth writing."""
        now = self._now()
        late = {
            agent: renewal.task_id
            for agent, renewal in zip(agents, renewals, strict=True)
            if agent_rules.is_worth_writing(self._heard.get(agent, 0), now)
        }
        if not late:
            return

        def hear(state: Working) -> None:
            for task_id in late.values():
                if task_id in state.tasks:
                    registry.hear_renewal(state, state.tasks[task_id])

        self._step(hear)
        if len(self._heard) > 1000:
            self._heard.clear()
        self._heard.update(dict.fromkeys(late, now))

    # Completing

    def settle(self, settlements: Sequence[Settlement]) -> list[Settled] | None:
        """Complete claims."""
        if not settlements or not all(settlement.is_simple for settlement in settlements):
            return None

        def arguments(gates: Gates) -> list[str | bytes | int | float] | None:
            if not gates.completes:
                return None
            return [part for settlement in settlements for part in _completion(settlement)]

        if self._call("settle", arguments) is None:
            return None
        return [
            Settled(
                task_id=settlement.task_id,
                fence=settlement.fence,
                outcome=settlement.outcome,
                status=settlement.next,
                retry_at=None,
            )
            for settlement in settlements
        ]

    # Scripts

    def _call(self, name: str, arguments: Callable[[Gates], Any]) -> list[Any] | None:
        """Run a script with what is known; None: the ledger must do it."""
        me = os.urandom(9).hex()
        learned, busy_s = 0, 0.0
        while True:
            # What is sent and its version belong together: another thread may learn something meanwhile.
            gates = self._gates
            given = arguments(gates)
            if given is None:
                if learned or (name != "add" and gates.version != UNKNOWN):
                    return None
                # A lane that nobody has told us of may be there by now.
                self._learn()
                learned += 1
                continue
            reply = self._engine.run(lambda line: self._say(line, name, gates.version, me, given))  # noqa: B023
            if reply[0] in (b"ok", b"done"):
                return reply
            if reply[0] == b"slow" or learned > _ASKS or busy_s > BUSY_S:
                return None
            if reply[0] == b"gates":
                self._learn()
                learned += 1
            else:
                # Whoever has the turn is done in a few milliseconds.
                time.sleep(0.0005)
                busy_s += 0.0005

    def _say(
        self, line: Line, name: str, gates: bytes, me: str, given: Sequence[str | bytes | int | float]
    ) -> list[Any]:
        now = self._now() if self._fake else ""
        reply: list[Any] = line.call(script(name), [self._keys.meta], [now, gates, me, *given])
        if reply[0] in (b"ok", b"done"):
            self._engine.confirm(line)
        return reply

    def _learn(self) -> None:
        self._gates = self._look(_gates_of)


def _gates_of(state: Working) -> Gates:
    if state.standing.state != OPEN:
        # Whatever is wanted, the ledger says why not.
        return Gates(version=state.gates)
    return Gates(
        version=state.gates,
        numbers=dict(state.lane_ids),
        lanes={number: lane for lane, number in state.lane_ids.items()},
        completes=not (state.budgets or state.breakers or state.backoffs),
    )


def _way_of(state: Working, request: ClaimRequest) -> Way:
    """What an agent may claim from, if nothing but lanes decides that."""
    if state.standing.state != OPEN:
        return Way(None, state.now)
    known = state.agents.get((request.project, request.agent))
    if known is None:
        return Way(None, state.now)
    rule = known.rule
    if state.budgets or (rule is not None and (rule.draining or rule.registered.max_concurrent is not None)):
        return Way(None, NEVER)
    request = standing.as_registered(request, rule)
    if standing.heard(known, Offer(request.capabilities, request.types, request.models), state.now) is not None:
        return Way(None, state.now)
    served = [lane for lane in state.lane_ids if may_serve(lane, request)]
    ways = pausing.ways(state, served, request)
    limited = {type for home, type in (*state.type_slots, *state.rates) if home == request.project}
    if ways.trials or any(lane.type in limited for lane in served):
        return Way(None, NEVER)
    changes_at = closing.changes_at(pausing.shut(state))
    if changes_at is not None and changes_at <= state.now:
        return Way(None, state.now)
    open = set(ways.lanes)
    lanes = [
        (number, lane.boost, matching.choose_model(providers.open_models(state, lane), request.models) or "")
        for lane in served
        if (number := state.lane_ids[lane]) in open
    ]
    heard_until = known.heard_at + int(agent_rules.HEARD_EVERY_S * 1_000_000)
    return Way(lanes, heard_until if changes_at is None else min(heard_until, changes_at))


def _is_usual(draft: Draft) -> bool:
    """Whether the script can add it."""
    task = draft.task
    return is_typical(draft) and task.context is None and draft.fallback_lane is None and task.max_attempts > 1


def _kind(draft: Draft, lane: int) -> list[Any]:
    """What tasks of a kind have in common, as `add.lua` takes it."""
    task = draft.task
    common: list[Any] = [str(lane), draft.lane.boost, task.priority, layout.kind_of(task)]
    if task.priority != 50.0:
        common += ("priority", repr(task.priority))
    if task.timeout is not None:
        common += ("timeout_s", repr(task.timeout))
    if task.depth:
        common += ("depth", str(task.depth))
    if task.expects is not None:
        common += ("expects", msgspec.json.encode(task.expects))
    return common


def _only_renews(renewal: Renewal) -> bool:
    """Whether it tells nothing new."""
    return renewal.progress is None and renewal.note is None and renewal.usage is None


def _completion(settlement: Settlement) -> tuple[str | bytes | int | float, ...]:
    """What `settle.lua` is told of a claim."""
    return (
        settlement.task_id,
        settlement.fence,
        settlement.digest,
        settlement.output or b"",
        settlement.decision or b"",
        msgspec.json.encode(settlement.memory) if settlement.memory else b"",
    )
