"""What most calls are, in one script each: adding standalone tasks, claiming where no gate is, renewing, completing.

The scripts do to a plain task what the ledger does, and say so when they meet another; then the ledger does it. What
they need to know of lanes and gates is remembered here, with its version: a script refuses when that is no longer true.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import Struct, field

from dibs.model.claim import News, Settled
from dibs.model.instants import from_micros
from dibs.rules import agents as agent_rules
from dibs.rules import closing, large, matching
from dibs.stores.ledger import pausing, providers, registry
from dibs.stores.ledger.claiming import may_serve
from dibs.stores.ledger.snapshots import claim_of
from dibs.stores.plain import is_typical, snapshots
from dibs.stores.redis import layout
from dibs.stores.redis.handing import Handing
from dibs.stores.redis.packing import array, packed_values
from dibs.stores.redis.scripting import script
from dibs.stores.specs import bare_spec_of
from dibs.stores.standing import OPEN
from dibs.stores.values import Claimed, Inserted, LaneKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.errors import DibsError
    from dibs.model.claim import Claim
    from dibs.stores.redis.engine import Engine, Line
    from dibs.stores.redis.keys import Keys
    from dibs.stores.redis.working import Working
    from dibs.stores.values import ClaimRequest, Draft, Renewal, Settlement

    Look = Callable[[Callable[[Any], Any]], Any]

T_co = TypeVar("T_co", covariant=True)
Arguments = list[str | bytes | int | float]

MOST_AT_ONCE = 1000
"""How many tasks one script adds: nobody else is served meanwhile."""
MOST_KNOWN = 1000
"""How many agents and kinds of tasks are remembered."""
NEVER = 1 << 62
UNKNOWN = b"unknown"
ANSWERS = (b"ok", b"idle", b"done")
_ASKS = 20
"""How often a script is told the newest gates before the ledger does it."""
BUSY_S = 2.0
"""How long a script waits for whoever has the turn."""


class Way(Struct):
    """What an agent claims from: (lane, boost, model, kind) each. None: its claims are the ledger's."""

    lanes: list[tuple[int, float, str, bytes]] | None
    until: int
    """When this must be looked at again."""
    knows_next: bool = False
    """Whether nothing but what is due in these lanes can change that they are empty."""


class Kind(Struct):
    """What tasks of a kind have in common, as scripts are told."""

    of: object
    """The kind of their drafts."""
    told: tuple[bytes, ...]
    """The last arguments of `add.lua`."""
    packed: bytes
    """The same for `add_many.lua`."""


class Gates(Struct):
    """What is known of a namespace, as of a version."""

    version: bytes = UNKNOWN
    numbers: dict[LaneKey, int] = field(default_factory=dict)
    lanes: dict[int, LaneKey] = field(default_factory=dict)
    completes: bool = False
    """Whether completing says nothing to breakers, providers and budgets."""
    ways: dict[Any, Way] = field(default_factory=dict)
    kinds: dict[int, Kind] = field(default_factory=dict)
    """By the id of a draft's kind: that is kept here, so it stays its id."""

    def way(self, request: ClaimRequest, now: int) -> Way | None:
        """What an agent may claim from, if that is known."""
        way = self.ways.get(_asker(request))
        return None if way is None or way.until <= now else way

    def kind(self, draft: Draft) -> Kind | None:
        """What tasks of a kind have in common; None: their lane is not known."""
        known = self.kinds.get(id(draft.kind))
        if known is not None:
            return known
        number = self.numbers.get(draft.lane)
        if number is None:
            return None
        if len(self.kinds) >= MOST_KNOWN:
            self.kinds.clear()
        known = self.kinds[id(draft.kind)] = _kind(draft, number)
        return known


class Errand(Struct, Generic[T_co]):
    """Something for a script to do."""

    script: str
    arguments: Callable[[Gates], Arguments | None]
    """What to tell the script, with what is known; None: too little is."""
    prepare: Callable[[], None]
    """Find out more."""
    read: Callable[[list[Any]], T_co | None]
    """What its reply means; None: the ledger must do it."""
    was_said: bool = False
    """Whether the script may have run, and its answer was lost."""
    until: int = NEVER
    """Until when it may be told what its arguments were the last time."""


class Quick:
    """The quick ways of one store. What they answer with None the ledger must do."""

    def __init__(
        self, engine: Engine, keys: Keys, step: Look, look: Look, now: Callable[[], int], *, fake: bool
    ) -> None:
        self._engine = engine
        self._keys = keys
        self._step = step
        self._look = look
        self.now = now
        self._fake = fake
        self._gates = Gates()
        self._heard: dict[bytes, int] = {}
        """When agents that renew were last written down."""

    # Errands

    def adding(self, drafts: list[Draft]) -> Errand[Inserted] | None:
        """Add tasks that are ready at once: all, or none."""
        if len(drafts) == 1:
            return self._adding_one(drafts) if _is_usual(drafts[0]) else None
        if len(drafts) > MOST_AT_ONCE or not all(map(_is_usual, drafts)):
            return None

        def arguments(gates: Gates) -> Arguments | None:
            kinds: list[bytes] = []
            places: dict[int, int] = {}
            tasks: Arguments = []
            for draft in drafts:
                place = places.get(id(draft.kind))
                if place is None:
                    kind = gates.kind(draft)
                    if kind is None:
                        return None
                    kinds.append(kind.packed)
                    place = places[id(draft.kind)] = len(kinds)
                task = draft.task
                tasks += (task.id, place, bare_spec_of(draft), bytes(draft.payload))
            return [array(kinds), msgspec.json.encode([draft.task.id for draft in drafts]), *tasks]

        return self._errand_to_add("add_many", arguments, drafts)

    def _adding_one(self, drafts: list[Draft]) -> Errand[Inserted]:
        """What most adds are: the arguments that its kind has are remembered as they are sent."""
        [draft] = drafts

        def arguments(gates: Gates) -> Arguments | None:
            kind = gates.kind(draft)
            return None if kind is None else [draft.task.id, bare_spec_of(draft), draft.payload, *kind.told]

        return self._errand_to_add("add", arguments, drafts)

    def _errand_to_add(
        self, script: str, arguments: Callable[[Gates], Arguments | None], drafts: list[Draft]
    ) -> Errand[Inserted]:
        def read(reply: list[Any]) -> Inserted:
            return Inserted(tasks=snapshots(drafts, int(reply[1])), existing=[False] * len(drafts))

        def prepare() -> None:
            self._open_lanes(drafts)
            self._learn()

        return Errand(script, arguments, prepare, read)

    def _open_lanes(self, drafts: list[Draft]) -> None:
        """Give lanes that are new their numbers."""

        def open_lanes(state: Working) -> None:
            for lane in dict.fromkeys(draft.lane for draft in drafts):
                state.lane_ids.setdefault(lane, len(state.lane_ids) + 1)

        self._step(open_lanes)

    def claiming(self, request: ClaimRequest) -> Errand[Claimed] | None:
        """Hand out the best tasks of open lanes."""
        if request.claim_id is not None or request.limit < 1:
            return None
        name = os.urandom(9).hex()
        models: dict[int, str] = {}
        knows_next = False

        def arguments(gates: Gates) -> Arguments | None:
            way = gates.way(request, self.now())
            if way is None or not way.lanes:
                return None
            nonlocal knows_next
            knows_next, errand.until = way.knows_next, way.until
            models.update((number, model) for number, _, model, _ in way.lanes)
            parts = [part for lane in way.lanes for part in lane]
            start = "1" if request.start else ""
            return [request.agent, request.limit, repr(request.lease_s), start, request.max_bytes, name, *parts]

        def read(reply: list[Any]) -> Claimed | None:
            if reply[0] == b"done":
                return self._claimed_before(request, reply[2])
            if reply[0] == b"idle":
                if not knows_next:
                    return None
                due_in = None if reply[2] == b"" else max(0.0, (int(reply[2]) - int(reply[1])) / 1_000_000)
                return Claimed(next_due_in=due_in)
            handing = Handing(request, int(reply[1]), self._gates.lanes, models)
            return Claimed(claims=[handing.claim(values) for values in reply[2:]])

        def prepare() -> None:
            self._learn_once()
            gates = self._gates
            if gates.way(request, self.now()) is None:
                if len(gates.ways) >= MOST_KNOWN:
                    gates.ways.clear()
                gates.ways[_asker(request)] = self._step(lambda state: _heard(state, request))

        errand = Errand("claim", arguments, prepare, read)
        return errand

    def _claimed_before(self, request: ClaimRequest, taken: bytes) -> Claimed:
        """What a claim took whose answer was lost on the way."""
        ids = msgspec.json.decode(taken, type=list[str])

        def held(state: Working) -> list[Claim]:
            records = [state.tasks[task_id] for task_id in ids if task_id in state.tasks]
            return [claim_of(state, record) for record in records if record.held and record.agent == request.agent]

        return Claimed(claims=self._look(held))

    def renewing(self, renewals: Sequence[Renewal]) -> Errand[list[News | DibsError]] | None:
        """Extend leases. Whoever renews is heard of, too."""
        if not renewals or not all(_only_renews(renewal) for renewal in renewals):
            return None

        def arguments(gates: Gates) -> Arguments | None:
            if not gates.completes:
                return None
            return [
                part
                for renewal in renewals
                for part in (renewal.task_id, renewal.fence, "" if renewal.lease_s is None else repr(renewal.lease_s))
            ]

        def read(reply: list[Any]) -> list[News | DibsError]:
            self._hear(renewals, reply[3::2])
            return [News(lease_expires_at=from_micros(int(ends))) for ends in reply[2::2]]

        return Errand("renew", arguments, self._learn_once, read)

    def _hear(self, renewals: Sequence[Renewal], agents: Sequence[bytes]) -> None:
        """Write down who was heard of, as often as that is worth writing."""
        now = self.now()
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

    def completing(self, settlements: Sequence[Settlement]) -> Errand[list[Settled | DibsError | None]] | None:
        """Complete claims; None stands for those that the ledger must settle."""
        if not settlements or not all(settlement.is_simple for settlement in settlements):
            return None

        def arguments(gates: Gates) -> Arguments | None:
            return [part for each in settlements for part in _completion(each)] if gates.completes else None

        def read(reply: list[Any]) -> list[Settled | DibsError | None]:
            left = set(reply[2:])
            return [
                None
                if place in left
                else Settled(
                    task_id=settlement.task_id,
                    fence=settlement.fence,
                    outcome=settlement.outcome,
                    status=settlement.next,
                    retry_at=None,
                )
                for place, settlement in enumerate(settlements, 1)
            ]

        return Errand("settle", arguments, self._learn_once, read)

    # Running them

    def run(self, errand: Errand[T_co] | None) -> T_co | None:
        """Let the script do it, when it is told enough."""
        if errand is None:
            return None
        learned, busy_s, prepared = 0, 0.0, False
        while True:
            # What is sent and its version belong together: another thread may learn something meanwhile.
            gates = self._gates
            given = errand.arguments(gates)
            if given is None:
                if prepared:
                    return None
                errand.prepare()
                prepared = True
                continue
            reply = self._engine.run(
                lambda line: self._say(line, errand, gates.version, given),  # noqa: B023
                is_in_doubt=errand.was_said,
            )
            if reply[0] in ANSWERS:
                return errand.read(reply)
            if reply[0] == b"slow" or learned > _ASKS or busy_s > BUSY_S:
                return None
            if reply[0] == b"gates":
                self._learn()
                learned += 1
                prepared = False
            else:
                # Whoever has the turn is done in a few milliseconds.
                time.sleep(0.0005)
                busy_s += 0.0005

    def _say(self, line: Line, errand: Errand[T_co], version: bytes, given: Arguments) -> list[Any]:
        arguments = self._told(errand, version, given)
        errand.was_said = True
        reply: list[Any] = line.call(script(errand.script), [self._keys.meta], arguments)
        errand.was_said = False
        if reply[0] in ANSWERS:
            self._engine.confirm(line)
        return reply

    def message(self, errand: Errand[T_co]) -> tuple[str | bytes | int | float, ...] | None:
        """The command that runs the script, for somebody else to send; None: more must be known for that."""
        gates = self._gates
        given = errand.arguments(gates)
        if given is None:
            return None
        return ("EVALSHA", script(errand.script).digest, 1, self._keys.meta, *self._told(errand, gates.version, given))

    def _told(self, errand: Errand[T_co], version: bytes, given: Arguments) -> Arguments:
        return [self.now() if self._fake else "", version, "1" if errand.was_said else "", *given]

    def _learn_once(self) -> None:
        if self._gates.version == UNKNOWN:
            self._learn()

    def _learn(self) -> None:
        self._gates = self._look(_gates_of)


def _asker(request: ClaimRequest) -> tuple[Any, ...]:
    return (request.project, request.agent, request.capabilities, request.types, request.models)


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


def _heard(state: Working, request: ClaimRequest) -> Way:
    """Write down that the agent was heard of, as often as that is worth writing: scripts do not. What it may claim from
    until the next time, if nothing but lanes decides that."""
    request = registry.hear_claim(state, request)
    known = state.agents[request.project, request.agent]
    rule = known.rule
    if state.budgets or (rule is not None and (rule.draining or rule.registered.max_concurrent is not None)):
        return Way(None, NEVER)
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
        (
            number,
            lane.boost,
            matching.choose_model(providers.open_models(state, lane), request.models) or "",
            layout.kind_of(lane.project, lane.type),
        )
        for lane in served
        if (number := state.lane_ids[lane]) in open
    ]
    heard_until = known.heard_at + int(agent_rules.HEARD_EVERY_S * 1_000_000)
    knows_next = not ways.watched and ways.opens_at is None and ways.limited_until is None
    return Way(lanes, heard_until if changes_at is None else min(heard_until, changes_at), knows_next)


def _is_usual(draft: Draft) -> bool:
    """Whether the script can add it."""
    task = draft.task
    usual = is_typical(draft) and task.context is None and draft.fallback_lane is None and task.max_attempts > 1
    # The script that hands it out counts its bytes.
    return usual and not large.is_mark(draft.payload)


def _kind(draft: Draft, lane: int) -> Kind:
    task = draft.task
    also: list[str | bytes | float] = []
    if task.priority != 50.0:
        also += ("priority", repr(task.priority))
    if task.timeout is not None:
        also += ("timeout_s", repr(task.timeout))
    if task.depth:
        also += ("depth", str(task.depth))
    if task.expects is not None:
        also += ("expects", msgspec.json.encode(task.expects))
    number, boost, rest = b"%d" % lane, draft.lane.boost, [layout.kind_of(task.project, task.type)]
    if also:
        rest.append(packed_values(also))
    return Kind(
        of=draft.kind,
        told=(number, repr(boost).encode(), repr(task.priority).encode(), *rest),
        packed=packed_values([number, boost, task.priority, *rest]),
    )


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
