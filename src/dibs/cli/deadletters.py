"""Dead letters as people see them: one by one, in groups, and one in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli import wording
from dibs.cli.output import on_terminal
from dibs.cli.render import Column, hint, print_block, print_facts, print_heading, print_line, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.attempt import Attempt
    from dibs.model.deadgroup import DeadGroup
    from dibs.model.review import Review
    from dibs.model.task import Task

COLUMNS = (
    Column("ID"),
    Column("TYPE"),
    Column("TITLE", spare=True),
    Column("ATTEMPTS", right=True, spare=True),
    Column("DIED", spare=True, style="bright_black"),
    Column("REASON", spare=True, style="red"),
    Column("ERROR", wide=True),
    Column("POISON", spare=True, style="bold red"),
    Column("DECIDED", spare=True),
)
GROUP_COLUMNS = (
    Column("TASKS", right=True),
    Column("TYPE"),
    Column("FINGERPRINT"),
    Column("FIRST DIED", spare=True, style="bright_black"),
    Column("LAST DIED", spare=True, style="bright_black"),
    Column("POISON", right=True, spare=True, style="bold red"),
    Column("OPEN", right=True, spare=True),
    Column("COST", right=True, spare=True),
    Column("ERROR", wide=True),
)


def print_dead_letters(tasks: Sequence[Task]) -> None:
    """One line each."""
    from dibs.cli.commands.look import when

    if not tasks and on_terminal():
        hint("There are no dead letters.")
        return
    instant = when()
    print_table(
        COLUMNS,
        (
            (
                task.id,
                task.type,
                wording.brief(task.title, 30) if on_terminal() else task.title or "",
                f"{task.attempts}/{task.max_attempts}",
                instant(task.dead_lettered_at),
                task.reason or "",
                wording.first_line(task.error, 500 if on_terminal() else None),
                "yes" if task.poison_pill else "",
                decided(task),
            )
            for task in tasks
        ),
    )


def decided(task: Task) -> str:
    """The last decision about a dead letter as it is now; nothing if there is none since it died."""
    last = task.reviews[-1] if task.reviews else None
    if last is None or last.fence != task.fence:
        return ""
    return f"{last.resolution} to {last.to}" if last.to else str(last.resolution)


def print_groups(groups: Sequence[DeadGroup]) -> None:
    """One line for each group."""
    from dibs.cli.commands.look import when

    if not groups and on_terminal():
        hint("There are no dead letters.")
        return
    instant = when()
    print_table(
        GROUP_COLUMNS,
        (
            (
                f"{group.count:,}" if on_terminal() else str(group.count),
                group.type,
                group.fingerprint,
                instant(group.first_at),
                instant(group.last_at),
                str(group.poison_pills or ""),
                f"{group.unreviewed:,}" if on_terminal() else str(group.unreviewed),
                cost(group.cost_usd, group.unpriced),
                wording.first_line(group.error, 500 if on_terminal() else None),
            )
            for group in groups
        ),
    )


def cost(usd: float | None, unpriced: int) -> str:
    """What dead letters cost; where some costs are unknown, at least."""
    if usd is None:
        return "unknown"
    return f"≥ {wording.usd(usd)}, {unpriced:,} unpriced" if unpriced else wording.usd(usd)


def print_dead_letter(task: Task, attempts: Sequence[Attempt], mark: str, alike: int) -> None:
    """Everything a decision needs: how often, how, and at what cost it failed."""
    from dibs.cli.commands.look import took, when

    instant = when()
    print_line((task.title or task.type, "bold"))
    print_facts(
        (
            ("status", task.status),
            ("id", task.id),
            ("type", task.type),
            ("poison pill", "yes: it is given up before it takes down more agents" if task.poison_pill else ""),
            ("died", instant(task.dead_lettered_at)),
            ("reason", task.reason or ""),
            ("fingerprint", mark),
            ("alike", f"{alike:,} dead letters failed this way: dibs dlq ls --fingerprint {mark}" if alike > 1 else ""),
            ("claims", f"{len(attempts)}, of which {task.attempts} counted as attempts"),
            ("cost", wording.usd(task.cost_usd)),
        )
    )
    for attempt in attempts:
        parts = [
            f"{attempt.outcome} by {attempt.agent}",
            instant(attempt.ended_at),
            took(attempt),
            "" if attempt.cost_usd is None else wording.usd(attempt.cost_usd),
        ]
        print_heading(f"claim {attempt.fence}: {' · '.join(part for part in parts if part)}")
        print_block(attempt.error or attempt.reason or "no error was told", "red")
    print_reviews(task.reviews)


def print_reviews(reviews: Sequence[Review]) -> None:
    """What people decided about a task, oldest first."""
    from dibs.cli.commands.look import when

    if not reviews:
        return
    instant = when()
    print_heading("decisions")
    for review in reviews:
        to = f" to {review.to}" if review.to else ""
        print_line(
            (f"  {review.resolution}{to}", "bold"),
            (f" by {review.by}, {instant(review.at)}", ""),
            (f": {review.note}" if review.note else "", ""),
            (f" (question {review.question})" if review.question else "", "bright_black"),
        )
