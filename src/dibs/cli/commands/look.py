"""Reading: what tasks there are, and everything about one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import json

from dibs.cli import wording
from dibs.cli.connecting import looked_into
from dibs.cli.output import on_terminal, print_json, print_row
from dibs.cli.parsing import Command, given, moment, whole
from dibs.cli.render import (
    Column,
    hint,
    now,
    print_block,
    print_facts,
    print_heading,
    print_json_block,
    print_line,
    print_table,
)
from dibs.errors import Invalid
from dibs.rules.priority import tier
from dibs.rules.usage import added_up, is_unpriced

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable
    from datetime import datetime

    from dibs.model.attempt import Attempt
    from dibs.model.question import Question
    from dibs.model.task import Task
    from dibs.model.views import Page, Stats, Why

LOG_LINES = 20
PAGE = 50
LONGEST_VALUE, MOST_LINES = 4_000, 40
"""How much of a payload or an output is shown on a terminal; in a pipe nothing is cut."""
NO_TASKS = 'No tasks yet. Add one: dibs add research "What is CORS?"'

TASK_COLUMNS = (
    Column("ID"),
    Column("STATUS", status=True),
    Column("TYPE", spare=True),
    Column("TITLE", wide=True),
    Column("PRIO", right=True, spare=True),
    Column("ATTEMPTS", right=True, spare=True),
    Column("AGENT", spare=True),
    Column("CREATED", spare=True, style="bright_black"),
)


def ls_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "query",
        metavar="QUERY",
        nargs="*",
        help="in words: status:running type:code cost>0.5 age>1h text (quote < and >)",
    )
    add("--status", metavar="S", action="append", help="ready, running, dead_lettered …; may be repeated")
    add("--type", metavar="T", help="only this type")
    add("--tag", metavar="T", help="only those with this tag")
    add("--dag", metavar="D", help="only the tasks of this dag")
    add("--agent", metavar="A", help="who holds it, or held it last")
    add("--user", metavar="U", help="for whom")
    add("--text", metavar="X", help="in the title or the payload")
    add("--limit", metavar="N", type=whole, help="default 50")
    add("--cursor", metavar="C", help="where the previous page ended")


def ls(args: Namespace) -> int:
    wanted = given(args, "status", "type", "tag", "dag", "agent", "user", "text")
    if given(args, "query").get("query"):
        wanted["query"] = " ".join(args.query)
    most = given(args, "limit").get("limit", PAGE)
    with looked_into(args) as queue:
        page = queue.find(**wanted, **given(args, "limit", "cursor"))
        # A page may be short because it was looked through so many; whoever asks wants what there is.
        while page.cursor is not None and len(page.items) < most:
            more = queue.find(**wanted, limit=most - len(page.items), cursor=page.cursor)
            page.items += more.items
            page.cursor = more.cursor
    if args.json:
        print_json(page)
    else:
        _print_page(page, nothing="No task is like that." if wanted else NO_TASKS)
    return 0


def _print_page(page: Page, *, nothing: str) -> None:
    """A page of tasks, and how to see more; or what to say when there are none."""
    instant = when()
    if page.items or not on_terminal():
        print_table(TASK_COLUMNS, (task_row(task, instant) for task in page.items))
    else:
        hint(nothing)
    if page.cursor:
        hint(f"There are more: add --cursor {page.cursor}", always=True)


def task_row(task: Task, instant: Callable[[datetime | None], str]) -> tuple[str, ...]:
    """One task as the cells of TASK_COLUMNS."""
    return (
        task.id,
        task.status,
        task.type,
        wording.title_of(task) if on_terminal() else task.title or "",
        wording.number(task.priority),
        f"{task.attempts}/{task.max_attempts}",
        task.agent or "",
        instant(task.created_at),
    )


def when() -> Callable[[datetime | None], str]:
    """How instants are shown: from now on a terminal, exactly in a pipe."""
    if not on_terminal():
        return wording.absolute
    moment = now()
    return lambda instant: wording.relative(instant, moment)


def show_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a task (or a dag: then as `dibs dag show`)")


def show(args: Namespace) -> int:
    if args.id.startswith("dag_"):
        from dibs.cli.commands.dag import show as show_dag

        return show_dag(args)
    with looked_into(args) as queue:
        task = queue.get(args.id)
        if args.json:
            print_json(task)
            return 0
        why = queue.why(args.id)
        attempts = queue.history(args.id)
        questions = queue.questions_of(args.id)
        judges = queue.judges_of(args.id)
        log = [entry.value for entry in queue.journal(args.id) if entry.kind == "log"]
    _print_task(task, why, attempts, judges)
    if questions:
        print_heading("questions")
        _print_questions(questions)
    if log:
        print_heading("log" if len(log) <= LOG_LINES else f"log, the last {LOG_LINES} of {len(log):,} lines")
        print_block("\n".join(json.decode(value, type=str) for value in log[-LOG_LINES:]))
    if attempts:
        print_heading("attempts")
        _print_attempts(attempts)
    if task.escalations:
        from dibs.rules.escalation import in_words

        print_heading("escalated")
        for taken in task.escalations:
            print_line((f"  {in_words(taken)}", "bold"), (f" after {taken.after} failed, {when()(taken.at)}", ""))
    if task.reviews:
        from dibs.cli.deadletters import print_reviews

        print_reviews(task.reviews)
    return 0


def _limits(task: Task) -> str:
    """What the task may use, over all its attempts."""
    from dibs.rules.budgets import in_words

    limits = ((task.max_cost, "usd"), (task.max_tokens, "tokens"), (task.max_turns, "turns"))
    return ", ".join(in_words(limit, unit) for limit, unit in limits if limit is not None)


def _print_task(task: Task, why: Why, attempts: list[Attempt], judges: list[Task]) -> None:
    instant = when()
    judging = added_up(judge.cost_usd for judge in judges)
    print_line((task.title or task.type, "bold"))
    tries = f"{task.attempts} of {task.max_attempts}" + (f", {task.crashes} crashed" if task.crashes else "")
    print_facts(
        (
            ("status", task.status),
            ("why", why.explanation),
            ("id", task.id),
            ("type", task.type),
            ("dag", task.dag_id),
            ("ref", task.ref or ""),
            ("parent", task.parent_id or ""),
            ("after", ", ".join(task.depends_on)),
            ("blocked by", ", ".join(task.blocked_by)),
            ("priority", _priority(task)),
            ("requires", ", ".join(task.requires)),
            ("assignee", task.assignee or ""),
            ("models", ", ".join(task.models)),
            ("tags", ", ".join(task.tags)),
            ("key", task.key or ""),
            ("coalesce key", task.coalesce_key or ""),
            ("user", task.user or ""),
            ("created by", task.created_by or ""),
            ("created", instant(task.created_at)),
            ("run after", instant(task.run_after)),
            ("deadline", instant(task.deadline) + (" (overdue)" if task.overdue else "")),
            ("ready", instant(task.ready_at)),
            ("started", instant(task.started_at)),
            ("took" if wording.ended_at(task) else "running for", wording.elapsed(task, now())),
            ("completed", instant(task.completed_at)),
            ("cancelled", instant(task.cancelled_at)),
            ("dead-lettered", instant(task.dead_lettered_at)),
            ("retry", instant(task.retry_at)),
            ("agent", task.agent or ""),
            ("fence", str(task.fence or "")),
            ("lease until", instant(task.lease_expires_at)),
            ("progress", " ".join(filter(None, (wording.percent(task.progress), task.note)))),
            ("attempts", tries),
            ("timeout", wording.span(task.timeout) if task.timeout else ""),
            ("may use", _limits(task)),
            ("cost", wording.cost(task.cost_usd, _unpriced(attempts)) or ("unknown" if task.attempts else "")),
            ("judging it cost", "" if judging is None else wording.usd(judging)),
            ("charged to", ", ".join(task.charged_to)),
            ("tokens", _tokens(task.tokens_in, task.tokens_out)),
            ("artifacts", ", ".join(f"{artifact.name} ({artifact.size:,} bytes)" for artifact in task.artifacts)),
            ("reason", task.reason or ""),
            ("cancel reason", task.cancel_reason or ""),
            ("exit code", "" if task.exit_code is None else str(task.exit_code)),
            ("poison pill", "yes" if task.poison_pill else ""),
        )
    )
    _print_value("payload", task.payload, task.id)
    _print_value("expects", task.expects, task.id)
    _print_value("output", task.output, task.id, " (broken characters replaced)" if task.output_sanitized else "")
    _print_value("decision", task.decision, task.id)
    if task.error:
        print_heading("error")
        print_block(task.error, "red")


def _print_questions(questions: list[Question]) -> None:
    columns = (
        Column("ID"),
        Column("STATUS"),
        Column("QUESTION", wide=True),
        Column("ANSWER", spare=True),
        Column("BY", spare=True),
    )
    longest = 60 if on_terminal() else None
    print_table(
        columns,
        (
            (
                question.id,
                question.status,
                wording.first_line(question.question, 500 if on_terminal() else None),
                wording.brief(question.answer, longest),
                question.answered_by or "",
            )
            for question in questions
        ),
    )


def _priority(task: Task) -> str:
    effective = task.effective_priority
    said = f"{wording.number(task.priority)} ({tier(task.priority)})"
    if effective is None or round(effective, 1) == task.priority:
        return said
    return f"{said}, now {effective:.1f}"


def _unpriced(attempts: list[Attempt]) -> int:
    """How many attempts cost something that nobody knows."""
    return sum(
        is_unpriced(
            attempt.outcome,
            attempt.cost_usd,
            model=attempt.model,
            tokens_in=attempt.tokens_in,
            tokens_out=attempt.tokens_out,
            turns=attempt.turns,
        )
        for attempt in attempts
    )


def _tokens(tokens_in: int | None, tokens_out: int | None) -> str:
    if tokens_in is None and tokens_out is None:
        return ""
    return f"{tokens_in or 0:,} in, {tokens_out or 0:,} out"


def _print_value(name: str, value: Any, id: str, note: str = "") -> None:
    if value is None:
        return
    print_heading(name + note)
    text = value if isinstance(value, str) else wording.pretty(value)
    shown, left = _beginning(text) if on_terminal() else (text, 0)
    if isinstance(value, str):
        print_block(shown)
    else:
        print_json_block(shown)
    if left:
        print_line((f"  … {left:,} more characters: dibs show {id} --json", "bright_black"))


def _beginning(text: str) -> tuple[str, int]:
    """As much of a text as one wants on a screen, and how many characters are left."""
    shown = "\n".join(text[:LONGEST_VALUE].split("\n")[:MOST_LINES])
    return shown, len(text) - len(shown)


def history(args: Namespace) -> int:
    with looked_into(args) as queue:
        attempts = queue.history(args.id)
    if args.json:
        print_json(attempts)
    elif attempts or not on_terminal():
        _print_attempts(attempts)
    else:
        hint(f"No attempt has ended yet; `dibs why {args.id}` tells more.")
    return 0


def _print_attempts(attempts: list[Attempt]) -> None:
    instant = when()
    columns = (
        Column("#", right=True),
        Column("FENCE", right=True),
        Column("OUTCOME", status=True),
        Column("AGENT"),
        Column("TOOK", right=True),
        Column("ENDED", style="bright_black", spare=True),
        Column("COST", right=True, spare=True),
        Column("REASON", spare=True),
        Column("ERROR", wide=True),
    )
    print_table(
        columns,
        (
            (
                str(attempt.number or "–"),
                str(attempt.fence),
                attempt.outcome,
                attempt.agent,
                took(attempt),
                instant(attempt.ended_at),
                "" if attempt.cost_usd is None else wording.usd(attempt.cost_usd),
                attempt.reason or "",
                wording.first_line(attempt.error, 500 if on_terminal() else None),
            )
            for attempt in attempts
        ),
    )


def took(attempt: Attempt) -> str:
    if attempt.started_at is None or attempt.ended_at is None:
        return ""
    return wording.span((attempt.ended_at - attempt.started_at).total_seconds())


def why(args: Namespace) -> int:
    with looked_into(args) as queue:
        answer = queue.why(args.id)
    if args.json:
        print_json(answer)
        return 0
    from dibs.cli.explaining import print_why

    print_why(answer)
    return 0


def stats_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--by", metavar="G", help="how it has been going, by type, agent, model or day")
    add("--since", metavar="T", type=moment, help="with --by: from this instant on, or so long ago (24h)")


def stats(args: Namespace) -> int:
    if "by" in args:
        return _metrics(args)
    if "since" in args:
        raise Invalid("--since needs --by: type, agent, model or day.", field="by")
    with looked_into(args) as queue:
        found = queue.stats()
    if args.json:
        print_json(found)
        return 0
    if not on_terminal():
        print_stats_rows(found)
        return 0
    instant = when()
    columns = (Column("STATUS", status=True), Column("TASKS", right=True))
    if not any(found.by_status.values()):
        hint(NO_TASKS)
        return 0
    print_table(columns, ((status, f"{count:,}") for status, count in found.by_status.items() if count))
    if found.lanes:
        print_heading("lanes with something ready")
        print_table(LANE_COLUMNS, (lane_row(lane, instant) for lane in found.lanes))
    if found.agents:
        print_heading("agents")
        print_table(
            (Column("AGENT"), Column("HEARD OF", style="bright_black"), Column("CAN", wide=True)),
            ((agent.id, instant(agent.heard_at), ", ".join(agent.capabilities)) for agent in found.agents),
        )
    if found.cost_usd is not None:
        print_heading(f"cost {wording.usd(found.cost_usd)}")
    return 0


def _metrics(args: Namespace) -> int:
    from dibs.cli.commands.measure import print_metrics

    with looked_into(args) as queue:
        groups = queue.metrics(args.by, **given(args, "since"))
    if args.json:
        print_json(groups)
    else:
        print_metrics(args.by, groups)
    return 0


def print_stats_rows(found: Stats) -> None:
    """The same for programs, a record per line: what it is, then its cells."""
    for status, count in found.by_status.items():
        if count:
            print_row(("status", status, count))
    for lane in found.lanes:
        print_row(("lane", *lane_row(lane, wording.absolute)))
    for agent in found.agents:
        print_row(("agent", agent.id, wording.absolute(agent.heard_at), ", ".join(agent.capabilities)))
    if found.cost_usd is not None:
        print_row(("cost", found.cost_usd))


LANE_COLUMNS = (
    Column("TYPE"),
    Column("READY", right=True),
    Column("OLDEST", style="bright_black"),
    Column("REQUIRES", wide=True),
    Column("ASSIGNEE", spare=True),
    Column("MODELS", spare=True),
)


def lane_row(lane: Any, instant: Callable[[datetime | None], str]) -> tuple[str, ...]:
    """One lane as the cells of LANE_COLUMNS."""
    return (
        lane.type,
        str(lane.ready),
        instant(lane.oldest_ready_at),
        ", ".join(lane.requires),
        lane.assignee or "",
        ", ".join(lane.models),
    )


def _id(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a task")


COMMANDS = {
    "ls": Command(
        ls_arguments,
        ls,
        about="Newest first. In a pipe, between tabs: id, status, type, title, priority, attempts, agent, created.",
        example="dibs ls --status running --status retrying --type code",
    ),
    "show": Command(show_arguments, show, example="dibs show task_01j…"),
    "history": Command(
        _id,
        history,
        about="In a pipe, between tabs: number, fence, outcome, agent, took, ended, cost, reason, error.",
        example="dibs history task_01j…",
    ),
    "why": Command(
        _id, why, about="One sentence, then each thing that keeps it from running.", example="dibs why task_01j…"
    ),
    "stats": Command(
        stats_arguments,
        stats,
        about="""
With --by, a line for each type, agent, model or day of what is still kept: tasks created, claims that completed or
failed, dead letters, cancels, the rate of errors, how long tasks waited and ran, tokens and cost. In a pipe, between
tabs, in the order that --json shows.
""",
        example="dibs stats --by model --since 24h",
    ),
}
