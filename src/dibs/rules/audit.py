"""The audit: entries that are only ever added, each with the SHA-256 of the one before.

Whoever edits, removes or inserts an entry breaks the chain at that place, and `Chain` names it. The last entries could
be cut off; so the newest number and digest are kept beside the chain too, and can be noted elsewhere.

Old entries are dropped (`prune`) by an entry that says up to which number, and what the digest of the last of those is:
the chain goes on from there. The entry that says so is part of the chain itself, so nobody can drop others by writing
down another beginning.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from dibs.model.audit import AuditEntry, AuditFault, AuditVerdict
from dibs.model.instants import from_micros

if TYPE_CHECKING:
    from collections.abc import Iterable

KIND = "audit"
"""The kind of their documents, which are of the whole store and named after their number."""
HEAD = "audit_head"
"""The kind, and the name, of the document that knows the newest one."""
PRUNED = "prune_audit"
"""The act of an entry that drops those before."""

DONE = "done"
MOST_KEPT = 20_000
"""Of more than so many entries the oldest are dropped."""
LOOKED_AT_EVERY = 1_000
"""How many entries are added before somebody looks whether there are too many."""
SHOWN = 100
"""How many faults are told."""
MAX_CHARS = 500


class Kept(Struct, kw_only=True, omit_defaults=True):
    """An entry as it is kept. `nonce` makes every one differ from all others, so that whoever writes it can tell
    its own. `dropped`: up to which number (see `PRUNED`), and the digest of that one."""

    number: int
    at: int
    by: str | None = None
    token_id: str | None = None
    project: str = "default"
    act: str
    target: str = ""
    outcome: str = DONE
    count: int = 1
    previous: str = ""
    nonce: str = ""
    dropped: tuple[int, str] | None = None


class Head(Struct, kw_only=True):
    """The newest entry, as far as is known."""

    number: int = 0
    digest: str = ""


_decode = msgspec.json.Decoder(Kept).decode
_decode_head = msgspec.json.Decoder(Head).decode
encode = msgspec.json.Encoder().encode


def name_of(number: int) -> str:
    """The name of the document of an entry: names are in the order of numbers."""
    return f"{number:012d}"


def digest_of(body: bytes) -> str:
    """What the next entry remembers of this one."""
    return sha256(body).hexdigest()


def head_of(body: bytes) -> Head:
    """The newest entry, as it is written down; one that cannot be read is none."""
    try:
        return _decode_head(body)
    except msgspec.MsgspecError:
        return Head()


def read(body: bytes) -> Kept | None:
    """An entry; None if it is none."""
    try:
        return _decode(body)
    except msgspec.MsgspecError:
        return None


def shown(entry: Kept, body: bytes) -> AuditEntry:
    """An entry as people see it."""
    alike = ("number", "by", "token_id", "project", "act", "target", "outcome", "count", "previous")
    return AuditEntry(
        **{name: getattr(entry, name) for name in alike}, at=from_micros(entry.at), digest=digest_of(body)
    )


def short(text: str | None) -> str | None:
    """What callers say of themselves, and paths that they ask for, may be long: the beginning is enough."""
    return text if text is None or len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"


class Chain:
    """Reads the entries in the order of their names, and finds what is wrong with them."""

    def __init__(self, noted: Head | None = None) -> None:
        self._noted = noted
        self._first: Kept | None = None
        self._number = 0
        self._digest = ""
        self._checked = 0
        self._checkpoints: dict[int, str] = {}
        self._met_noted: str | None = None
        self._faults: list[AuditFault] = []

    def look_at(self, entries: Iterable[tuple[str, bytes]]) -> None:
        """The next ones: name and body."""
        for name, body in entries:
            self._checked += 1
            entry = read(body)
            number = int(name) if name.isdecimal() else 0
            if entry is None or entry.number != number or name != name_of(number):
                self._fault(number, f"Entry {name:.40} cannot be read: it was changed after it was written.")
                # What follows has its digest, or not; that is told by the next one.
                number = number or self._number + 1
            elif self._first is None:
                self._first = entry
            elif number > self._number + 1:
                gone = _span(self._number + 1, number - 1)
                self._fault(self._number + 1, f"{gone} missing: removed after being written.")
            elif entry.previous != self._digest:
                before = number - 1
                self._fault(
                    before,
                    f"Entry {before} was changed after it was written: entry {number} remembers another digest of it.",
                )
            if entry is not None and entry.act == PRUNED and entry.dropped is not None:
                self._checkpoints[entry.dropped[0]] = entry.dropped[1]
            self._number, self._digest = number, digest_of(body)
            if self._noted is not None and self._noted.number == number:
                self._met_noted = self._digest

    def verdict(self, head: Head) -> AuditVerdict:
        """What was found, once all were looked at. `head`: the newest one, as it was kept beside the chain."""
        pruned = self._look_at_beginning()
        if head.number > self._number:
            self._fault(self._number + 1, f"{_span(self._number + 1, head.number)} missing: the end was cut off.")
        elif head.number == self._number and head.digest != self._digest:
            self._fault(head.number, f"Entry {head.number} was changed after it was written: its digest is another.")
        self._look_for_noted(pruned)
        self._faults.sort(key=lambda fault: fault.number)
        return AuditVerdict(
            sound=not self._faults,
            checked=self._checked,
            number=self._number,
            head=self._digest,
            pruned=pruned,
            faults=self._faults[:SHOWN],
        )

    def _look_at_beginning(self) -> int:
        """How many were dropped on purpose."""
        first = self._first
        dropped = max(self._checkpoints, default=0)
        if first is None or first.number <= 1:
            return 0
        if first.number > dropped + 1:
            self._fault(dropped + 1, f"{_span(dropped + 1, first.number - 1)} missing: removed after being written.")
        elif first.number == dropped + 1 and first.previous != self._checkpoints[dropped]:
            self._fault(first.number, f"Entry {first.number} does not follow on those that were dropped before it.")
        return first.number - 1

    def _look_for_noted(self, pruned: int) -> None:
        noted = self._noted
        if noted is None or noted.number <= pruned or self._met_noted == noted.digest:
            return
        if noted.number > self._number:
            self._fault(self._number + 1, f"{_span(self._number + 1, noted.number)} missing: you noted the last.")
        else:
            self._fault(noted.number, f"Entry {noted.number} is not the one you noted: the chain was written anew.")

    def _fault(self, number: int, sentence: str) -> None:
        self._faults.append(AuditFault(number, sentence))


def _span(first: int, last: int) -> str:
    return f"Entry {first} is" if first == last else f"Entries {first} to {last} are"
