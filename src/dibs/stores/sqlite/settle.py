"""Ending claims. Tasks that simply completed are settled together, in three statements however many they are;
everything else is applied one after the other on loaded rows and written back together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.model.claim import Settled
from dibs.model.instants import seconds
from dibs.model.status import FAILURES, Outcome, Status
from dibs.rules.validation import INLINE_OUTPUT_BYTES
from dibs.stores import refusals
from dibs.stores.sqlite import validating
from dibs.stores.sqlite.cascade import STEP, Cascade
from dibs.stores.sqlite.dags import Dags
from dibs.stores.sqlite.rows import HELD, decode, encode, instant
from dibs.stores.sqlite.statements import sql
from dibs.stores.sqlite.work import Work
from dibs.stores.values import BY_DUTY, ENDS_ANY_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.errors import DibsError
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes
    from dibs.stores.sqlite.rows import Row
    from dibs.stores.values import Settlement

_ENDING = "SELECT outcome, digest, status, retry_at FROM attempts WHERE n = ? AND fence = ?"


def settle(tx: Transaction, lanes: Lanes, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
    """End claims as decided; each is answered by itself."""
    ids = [settlement.task_id for settlement in settlements]
    found, troubled, remembered = tx.row(sql("settle_look"), (encode(ids).decode(),))
    states: dict[str, list[Any]] = {state[0]: state for state in decode(found)}
    simple = [_is_simple(settlement, states.get(settlement.task_id), tx.now) for settlement in settlements]
    if len(states) == len(settlements) and all(simple):
        answers = _complete(tx, settlements, states)
        if troubled:
            from dibs.stores.sqlite import breakers

            claims = [(states[settlement.task_id][1], settlement.fence) for settlement in settlements]
            breakers.judge_completed(tx, lanes, claims)
        if remembered:
            from dibs.stores.sqlite import providers

            providers.judge_completed(tx, lanes, [states[settlement.task_id][1] for settlement in settlements])
        return answers
    settling = _Settling(tx, lanes, ids)
    answers = settling.apply(settlements)
    settling.judge(troubled=bool(troubled))
    if remembered or any(settlement.limited is not None for settlement in settlements):
        from dibs.stores.sqlite import providers

        providers.judge(tx, lanes, settling.ended, remembered=bool(remembered))
    return answers


def _is_simple(settlement: Settlement, state: list[Any] | None, now: int) -> bool:
    """Whether a held task completed in time, nothing waits for it, it holds no lock and reserved nothing, and nothing
    is to be added up."""
    return (
        state is not None
        and state[2] in HELD
        and state[3] == settlement.fence
        and not state[5]
        and state[6] == 1
        and (state[8] is None or state[8] > now)
        and state[9]
        and settlement.is_simple
        and (settlement.output is None or len(settlement.output) <= INLINE_OUTPUT_BYTES)
    )


def _complete(
    tx: Transaction, settlements: Sequence[Settlement], states: dict[str, list[Any]]
) -> list[Settled | DibsError]:
    """Tasks that simply completed."""
    attempts: list[Any] = []
    numbers: list[int] = []
    dags: dict[str, None] = {}
    by_agent: list[tuple[str | None, list[Any]]] = []
    answers: list[Settled | DibsError] = []
    for settlement in settlements:
        id, number, _, fence, dag, _, _, agent, *_ = states[settlement.task_id]
        output, decision = settlement.output, settlement.decision
        attempts.append(
            (
                number,
                settlement.digest,
                None if output is None else output.decode(),
                None if decision is None else decision.decode(),
            )
        )
        numbers.append(number)
        if dag is not None:
            dags[dag] = None
        item: Any = id if dag is None else [id, dag]
        if settlement.memory:
            item = [id, dag, settlement.memory]
        if not by_agent or by_agent[-1][0] != agent:
            by_agent.append((agent, []))
        by_agent[-1][1].append(item)
        answers.append(Settled(task_id=id, fence=fence, outcome="completed", status="completed"))
    tx.run(sql("settle_attempts"), (encode(attempts).decode(), tx.now))
    tx.run(sql("settle"), (encode(numbers).decode(), tx.now))
    for agent, items in by_agent:
        tx.outbox.add(("task.completed",), tx.now, items, agent)
    if dags:
        followed = Dags(tx)
        for dag in dags:
            followed.touch(dag)
        followed.follow()
    return answers


class _Settling:
    """Settlements applied one after the other."""

    def __init__(self, tx: Transaction, lanes: Lanes, ids: Sequence[str]) -> None:
        self.tx = tx
        self.lanes = lanes
        self.work = Work(tx)
        self.found = self.work.by_id(dict.fromkeys(ids))
        self.ended: list[tuple[Row, Settlement, int]] = []
        """Each with the lane it was claimed from: a rung may have led it to another."""
        self._climbs: bool | None = None

    def apply(self, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
        """Answer each; write everything at the end."""
        answers = [self._settle(settlement) for settlement in settlements]
        self.work.flush()
        return answers

    def judge(self, *, troubled: bool) -> None:
        """Let the breakers of their types know how these claims ended; not where that cannot change one."""
        if not troubled and all(settlement.outcome not in FAILURES for _, settlement, _ in self.ended):
            return
        from dibs.rules.breaker import verdict
        from dibs.stores.sqlite import breakers

        endings = [
            (
                (row.project, row.type),
                (row.id, settlement.fence),
                verdict(
                    settlement.outcome,
                    settlement.reason,
                    counts_attempt=settlement.counts_attempt,
                    together=settlement.together,
                ),
            )
            for row, settlement, _ in self.ended
        ]
        breakers.judge(self.tx, self.lanes, endings, troubled=troubled)

    def _settle(self, settlement: Settlement) -> Settled | DibsError:
        row = self.found.get(settlement.task_id)
        if row is None:
            return refusals.no_task(settlement.task_id)
        if settlement.concludes:
            if not row.handed_in_under(settlement.fence):
                return refusals.lease_lost(row.id, settlement.fence)
            return self._end(row, self._climbed(row, settlement))
        if not row.held or row.fence != settlement.fence:
            return self._settled_before(row, settlement)
        if settlement.by_duty and not _still_over(row, settlement, self.tx.now):
            return refusals.lease_lost(row.id, settlement.fence)
        if settlement.outcome not in ENDS_ANY_TIME and row.over_timeout(self.tx.now):
            return refusals.over_timeout(row.id, settlement.fence, row.timeout_s)
        return self._end(row, self._climbed(row, settlement))

    def _climbed(self, row: Row, settlement: Settlement) -> Settlement:
        """What a failure takes of its ladder. Only failures look whether there is one."""
        if settlement.outcome not in FAILURES or not settlement.counts_attempt:
            return settlement
        from dibs.stores.sqlite import escalating

        if self._climbs is None:
            self._climbs = escalating.exist(self.tx)
        return escalating.climbed(self.tx, row, settlement) if self._climbs else settlement

    def _settled_before(self, row: Row, settlement: Settlement) -> Settled | DibsError:
        """The answer to a settlement whose claim has ended already."""
        self.work.save()
        ending = self.tx.row(_ENDING, (row.n, settlement.fence))
        if ending is not None:
            outcome, digest, status, retry_at = ending
            if digest and digest == settlement.digest:
                return Settled(
                    task_id=row.id,
                    fence=settlement.fence,
                    outcome=outcome,
                    status=status,
                    retry_at=instant(retry_at),
                )
            taken_away = outcome == Outcome.EXPIRED or digest == BY_DUTY
            if taken_away or row.fence > settlement.fence:
                return refusals.lease_lost(row.id, settlement.fence)
            return refusals.ended_as(row.id, settlement.fence, outcome)
        if cancelled_unwritten(row, settlement.fence) and not settlement.by_duty:
            self.work.write_cancelled_attempt(row, settlement.usage)
            return refusals.was_cancelled(row.id, row.cancel_reason or row.reason)
        return refusals.lease_lost(row.id, settlement.fence)

    def _end(self, row: Row, settlement: Settlement) -> Settled:
        """Count, write the attempt, move the task on, and let the consequences follow."""
        agent, lane = row.agent, row.lane
        row.attempts += settlement.counts_attempt
        row.crashes += settlement.counts_crash
        row.releases = settlement.releases
        row.solo = int(settlement.suspect or row.max_attempts == 1)
        row.poison_pill = int(settlement.poison_pill)
        if settlement.timeout_s is not None:
            row.timeout_s = settlement.timeout_s
        if settlement.next is Status.RETRYING:
            row.retry_at = self.tx.now + seconds(settlement.delay_s)
        number = row.attempts if settlement.counts_attempt else 0
        if settlement.concludes:
            validating.rewrite_attempt(self.tx, row, settlement, number)
            validating.keep_results(self.tx, row, settlement)
        else:
            self._end_claim(row, settlement, number)
            _keep_results(row, settlement)
        if settlement.artifacts:
            from dibs.stores.sqlite import artifacts

            artifacts.keep(self.tx, row, settlement.artifacts)
        if settlement.outcome is Outcome.EXPIRED:
            self.work.emit("task.expired", row, agent=agent, reason=settlement.reason)
        elif settlement.outcome is Outcome.RELEASED:
            self.work.emit("task.released", row, agent=agent, reason=settlement.reason)
        if settlement.rungs:
            from dibs.stores.sqlite import escalating

            escalating.take(self.work, row, settlement, agent)
        answer = Settled(
            task_id=row.id,
            fence=row.fence,
            outcome=settlement.outcome.value,
            status=settlement.next.value,
            retry_at=instant(row.retry_at),
        )
        self._move_on(row, settlement, agent)
        self.ended.append((row, settlement, lane))
        return answer

    def _end_claim(self, row: Row, settlement: Settlement, number: int) -> None:
        self.work.end_claim(
            row,
            settlement.outcome.value,
            status=settlement.next.value,
            number=number,
            usage=settlement.usage,
            reason=settlement.reason,
            error=settlement.error,
            fingerprint=settlement.fingerprint,
            exit_code=settlement.exit_code,
            digest=settlement.digest,
            retry_at=row.retry_at,
            output=settlement.output,
            decision=settlement.decision,
            artifacts=settlement.artifacts,
        )

    def _move_on(self, row: Row, settlement: Settlement, agent: str | None) -> None:
        """Where the task goes, and the one event that carries what a later memory of this attempt needs."""
        work, reason, memory = self.work, settlement.next_reason, settlement.memory
        work.dags.touch(row.dag)
        work.touch(row)
        if settlement.next is Status.COMPLETED:
            row.status = "completed"
            row.completed_at = work.now
            work.emit("task.completed", row, agent=agent, reason=reason, data=memory)
            if row.has_dependents:
                work.release_dependents([row])
        elif settlement.next is Status.DEAD_LETTERED:
            row.status = "dead_lettered"
            row.dead_lettered_at = work.now
            work.emit("task.dead_lettered", row, agent=agent, reason=reason, data=memory)
            cascade = Cascade(work, STEP)
            cascade.bury(row)
            cascade.run()
        elif settlement.next is Status.VALIDATING:
            row.status = "validating"
            work.emit("task.validating", row, agent=agent)
        else:
            row.agent = None
            if settlement.fallback and row.fallback_lane is not None:
                row.lane = row.fallback_lane
                self.lanes.current(self.tx)
                self.lanes.revive(self.tx, row.lane)
            if settlement.rungs:
                from dibs.stores.sqlite import escalating

                escalating.reassign(work, self.lanes, row, settlement.rungs)
            if settlement.next is Status.WAITING:
                escalating.wait(work, row, settlement, agent)
            elif settlement.next is Status.RETRYING:
                row.status = "retrying"
                row.due_at = row.retry_at
                work.emit("task.retrying", row, agent=agent, reason=reason, data=memory)
            else:
                work.make_ready(row, agent=agent, reason=reason, data=memory)


def _keep_results(row: Row, settlement: Settlement) -> None:
    """Output and decision of the work; error and reason of the last failure or stop; exit code of either."""
    if settlement.next is Status.COMPLETED:
        row.error = row.reason = None
        row.exit_code = settlement.exit_code
    elif settlement.outcome in FAILURES or settlement.error is not None:
        row.error = settlement.error
        row.reason = settlement.reason
        row.exit_code = settlement.exit_code
    if settlement.next is Status.COMPLETED or settlement.output is not None:
        row.output_fence = row.fence
        row.output_sanitized = int(settlement.output_sanitized)


def cancelled_unwritten(row: Row, fence: int) -> bool:
    """Whether it was cancelled while this fence held it, and that attempt is not written yet."""
    return row.status == "cancelled" and row.fence == fence and row.due_at is not None


def _still_over(row: Row, settlement: Settlement, now: int) -> bool:
    """The agent may have renewed since the duty looked."""
    at = row.lease_expires_at if settlement.outcome is Outcome.EXPIRED else row.timeout_at
    return at is not None and at <= now
