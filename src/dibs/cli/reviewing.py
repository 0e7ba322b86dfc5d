"""Walking the groups of dead letters with a person, who decides about each; and writing down what was decided.

Nothing is remembered here: what was decided is recorded on the tasks, group by group, so a walk that was left, or died,
goes on with the next group another time.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.cli import deadletters, wording
from dibs.cli.output import clean
from dibs.cli.render import now, print_block, print_facts, print_line
from dibs.errors import DibsError, Invalid
from dibs.model.deadgroup import DeadGroup

if TYPE_CHECKING:
    from dibs.model.task import Task
    from dibs.sync import SyncQueue

CHOICES = "[r]etry now · retry [l]ater · [m]odify one and retry it · [d]rop · [e]scalate · [k]eep · [s]kip · [q]uit"
RESOLUTIONS = {"r": "retried", "l": "retried", "d": "dropped", "e": "escalated", "k": "kept"}
ERROR_LINES = 12


class Made(Struct, kw_only=True):
    """One decision of a walk, and what became of it."""

    group: DeadGroup
    resolution: str
    by: str
    at: datetime
    count: int
    refused: list[str]
    note: str | None = None
    to: str | None = None
    question: str | None = None
    delay: str | None = None
    task_ids: list[str]


class Left(Exception):
    """The person has had enough."""


class Walk:
    """Group after group until there is none left, or the person leaves."""

    def __init__(self, queue: SyncQueue, filters: dict[str, Any], by: str, report: Report | None) -> None:
        self.queue = queue
        self.filters = filters
        self.by = by
        self.report = report
        self.made: list[Made] = []
        self._passed: set[tuple[str, str]] = set()

    def run(self) -> None:
        """Ask about every group once."""
        try:
            while groups := self._open_groups():
                self._decide(groups[0], len(groups))
        except Left:
            pass
        left = sum(group.unreviewed for group in self._open_groups(skipped=True))
        decided = sum(made.count for made in self.made)
        print_line((f"{decided:,} decided about", "bold"), (f", {left:,} left to decide", ""))

    def _open_groups(self, *, skipped: bool = False) -> list[DeadGroup]:
        groups = self.queue.dead_letters(**self.filters)
        return [group for group in groups if skipped or (group.type, group.fingerprint) not in self._passed]

    def _decide(self, group: DeadGroup, left: int) -> None:
        wanted = {**self.filters, "type": group.type, "fingerprint": group.fingerprint}
        # Those that are shown are those that are decided about, whatever dies meanwhile.
        ids = self.queue.dead_letter_ids(**wanted)
        if not ids:
            return
        _show(group, len(ids), left)
        while True:
            choice = _ask("what now? ").lower()[:1]
            if choice == "q":
                raise Left
            try:
                if self._follow(choice, group, ids):
                    return
            except DibsError as error:
                print_line(("! ", "yellow"), (error.message, ""))

    def _follow(self, choice: str, group: DeadGroup, ids: list[str]) -> bool:
        """Do as told; whether this group was dealt with."""
        if choice == "m":
            return self._modify(group, ids[0])
        if choice in RESOLUTIONS:
            done = self._carry_out(choice, group, ids)
        else:
            done = choice == "s"
        if done:
            self._passed.add((group.type, group.fingerprint))
        else:
            print_line((CHOICES, "bright_black"))
        return done

    def _carry_out(self, choice: str, group: DeadGroup, ids: list[str]) -> bool:
        """One decision about all of the group; False if it was called off."""
        options: dict[str, Any] = {}
        if choice == "l":
            options["delay"] = _ask("in how long? (such as 10m) ")
        if choice == "e":
            options["to"] = _ask("to whom? (a person or a role) ")
        if any(not value for value in options.values()):
            return False
        if choice == "e":
            options["question"] = _ask("what shall they decide? (Enter for: retry, drop or keep it?) ") or None
        if choice in "dek":
            options["note"] = _ask("a note? (Enter for none) ") or None
        resolution = RESOLUTIONS[choice]
        answers = self.queue.review_many(ids[::-1], resolution, by=self.by, **options)
        self._note(group, resolution, answers, options)
        return True

    def _modify(self, group: DeadGroup, id: str) -> bool:
        """The newest of the group with another payload; the others are asked about again."""
        before = self.queue.get(id).payload
        payload = edited(before)
        if payload is None or payload == before:
            print_line(("nothing was changed, so nothing is retried", "bright_black"))
            return False
        task = self.queue.review(id, "retried", by=self.by, payload=payload)
        self._note(group, "retried_modified", [task], {})
        return True

    def _note(
        self, group: DeadGroup, resolution: str, answers: list[Task | DibsError], options: dict[str, Any]
    ) -> None:
        done = [answer for answer in answers if not isinstance(answer, DibsError)]
        refused = [answer.message for answer in answers if isinstance(answer, DibsError)]
        at = next((task.reviews[-1].at for task in done if task.reviews), now())
        made = Made(
            group=group,
            resolution=resolution,
            by=self.by,
            at=at,
            count=len(done),
            refused=refused,
            task_ids=[task.id for task in done[:5]],
            **options,
        )
        self.made.append(made)
        print_line(("✓ ", "green"), (f"{len(done):,} {resolution}", "bold"))
        if refused:
            print_line(("! ", "yellow"), (f"{len(refused):,} refused: {refused[0]}", ""))
        if self.report is not None:
            self.report.add(made, len(self.made))


def edited(payload: Any) -> Any:
    """The payload as the person's editor leaves it. Raises Invalid if that is not JSON."""
    import shlex
    import subprocess
    import tempfile

    from msgspec import DecodeError, json

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.NamedTemporaryFile("w+", suffix=".json", prefix="dibs-payload-", encoding="utf-8") as file:
        file.write(json.format(json.encode(payload), indent=2).decode() + "\n")
        file.flush()
        try:
            code = subprocess.run([*shlex.split(editor), file.name], check=False).returncode
        except OSError as error:
            raise Invalid(f"{editor} cannot be run ({error.strerror}): set $EDITOR", field="editor") from None
        if code:
            raise Invalid(f"{editor} ended with {code}; the payload is as it was", field="editor")
        # By its name: most editors write a new file and put it in the place of the old one.
        with open(file.name, "rb") as written:
            content = written.read()
    try:
        return json.decode(content)
    except (DecodeError, UnicodeError) as error:
        raise Invalid(f"that is not JSON ({error}); the payload is as it was", field="payload") from None


def _show(group: DeadGroup, count: int, left: int) -> None:
    moment = now()
    print_line(("", ""))
    print_line((f"{count:,} × {group.type}", "bold"), (f"  ({left:,} groups left)" if left > 1 else "", "bright_black"))
    first, last = (wording.relative(at, moment) for at in (group.first_at, group.last_at))
    poison = f"{group.poison_pills:,}: given up before they take down more agents" if group.poison_pills else ""
    print_facts(
        (
            ("died", last if first == last else f"{first} to {last}"),
            ("poison pills", poison),
            ("cost", deadletters.cost(group.cost_usd, group.unpriced)),
            ("fingerprint", group.fingerprint),
            ("such as", ", ".join(group.task_ids)),
        )
    )
    print_block("\n".join((group.error or group.reason or "").split("\n")[:ERROR_LINES]), "red")
    print_line((CHOICES, "bright_black"))


def _ask(question: str) -> str:
    """What the person types; leaving the terminal leaves the walk."""
    try:
        return input(question).strip()
    except (EOFError, KeyboardInterrupt):
        print()
        raise Left from None


class Report:
    """A Markdown file that grows with every decision; one that exists is continued."""

    def __init__(self, path: str) -> None:
        self.path = path

    @classmethod
    def at(cls, path: str) -> Report:
        """The file to write, by default one for this day. Raises Invalid before anything is decided."""
        path = path or f"dlq-review-{now().date().isoformat()}.md"
        folder = os.path.dirname(path) or "."
        if os.path.isdir(path) or not os.access(path if os.path.exists(path) else folder, os.W_OK):
            raise Invalid(f"{path} cannot be written: name another file with --export", field="export")
        return cls(path)

    def add(self, made: Made, number: int) -> None:
        """Write down one decision."""
        with open(self.path, "a", encoding="utf-8") as file:
            if not file.tell():
                file.write(f"# Dead letters, reviewed {made.at.date().isoformat()}\n")
            file.write(f"\n{section(made, number)}")


def section(made: Made, number: int) -> str:
    """One decision in Markdown."""
    group = made.group
    to = f" to {_plain(made.to)}" if made.to else ""
    later = f", in {_plain(made.delay)}" if made.delay else ""
    refused = f"; {len(made.refused):,} refused: {_plain(made.refused[0])}" if made.refused else ""
    facts = (
        f"decision: **{_plain(made.resolution)}**{to}{later}, by {_plain(made.by)}, {wording.absolute(made.at)}",
        f"note: {_plain(made.note)}" if made.note else "",
        f"question: {_plain(made.question)}" if made.question else "",
        f"dead letters: {made.count:,} of {group.count:,} in the group{refused}",
        f"poison pills: {group.poison_pills:,}" if group.poison_pills else "",
        f"died: {wording.absolute(group.first_at)} to {wording.absolute(group.last_at)}",
        f"cost: {deadletters.cost(group.cost_usd, group.unpriced)}",
        f"fingerprint: `{group.fingerprint}`",
        f"tasks: {', '.join(made.task_ids)}{' …' if made.count > len(made.task_ids) else ''}",
        "error:",
    )
    error = (group.error or group.reason or "").split("\n")[:ERROR_LINES]
    return (
        f"## {number}. {made.count:,} × {_plain(group.type)}: {_plain(made.resolution)}{to}\n\n"
        + "".join(f"- {fact}\n" for fact in facts if fact)
        + "\n"
        + "".join(f"      {clean(line)}\n" for line in error)
    )


def _plain(text: str | None) -> str:
    """Other people's text on one line, read as nothing but text."""
    shown = clean(text or "")
    for sign in "\\`*_[]<>#|":
        shown = shown.replace(sign, f"\\{sign}")
    return shown
