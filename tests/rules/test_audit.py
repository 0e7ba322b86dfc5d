"""A chain of entries: whatever is changed, removed or inserted is found, and named."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.rules import audit
from dibs.rules.audit import Chain, Head, Kept

Entries = list[tuple[str, bytes]]


def chain(count: int, **last: Any) -> Entries:
    """So many entries; the last one as given."""
    entries: Entries = []
    for number in range(1, count + 1):
        append(entries, **(last if number == count else {}))
    return entries


def append(entries: Entries, **values: Any) -> None:
    number = int(entries[-1][0]) + 1 if entries else 1
    previous = audit.digest_of(entries[-1][1]) if entries else ""
    entry = Kept(**{"number": number, "at": number, "act": "create_token", "previous": previous, **values})
    entries.append((audit.name_of(number), audit.encode(entry)))


def head(entries: Entries) -> Head:
    return Head(number=int(entries[-1][0]), digest=audit.digest_of(entries[-1][1])) if entries else Head()


def faults(entries: Entries, newest: Head | None = None, noted: Head | None = None) -> list[tuple[int, str]]:
    looking = Chain(noted)
    looking.look_at(entries)
    verdict = looking.verdict(head(entries) if newest is None else newest)
    assert verdict.sound == (not verdict.faults)
    return [(fault.number, fault.detail) for fault in verdict.faults]


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_a_chain_that_nobody_touched_is_sound(count: int) -> None:
    entries = chain(count)
    assert faults(entries) == []
    # Whoever added the last one may not have said so yet.
    assert faults(entries, Head()) == []
    looking = Chain()
    looking.look_at(entries[:1])
    looking.look_at(entries[1:])
    verdict = looking.verdict(head(entries))
    assert (verdict.sound, verdict.checked, verdict.number, verdict.pruned) == (True, count, count, 0)
    assert verdict.head == head(entries).digest


@pytest.mark.parametrize("place", range(6))
def test_an_edited_entry_is_named(place: int) -> None:
    entries = chain(6)
    newest = head(entries)
    name, body = entries[place]
    entries[place] = (name, body.replace(b"create_token", b"delete_token"))
    [(number, sentence)] = faults(entries, newest)
    assert (number, f"Entry {place + 1} was changed" in sentence) == (place + 1, True)


@pytest.mark.parametrize("body", [b"", b"{}", b"nonsense", b'{"number":3,"at":0,"act":"x"}'])
def test_an_entry_that_cannot_be_read_is_named(body: bytes) -> None:
    entries = chain(6)
    entries[1] = (entries[1][0], body)
    told = faults(entries)
    assert told[0][0] == 2
    assert "cannot be read" in told[0][1] or "was changed" in told[1][1]


@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 3), (2, 3), (2, 5), (5, 6), (3, 6)])
def test_removed_entries_are_named(first: int, last: int) -> None:
    entries = chain(6)
    newest = head(entries)
    del entries[first:last]
    [(number, sentence)] = faults(entries, newest)
    assert number == first + 1
    what = f"Entry {last} is" if last - first == 1 else f"Entries {first + 1} to {last} are"
    assert what in sentence
    assert "missing" in sentence


def test_all_removed_is_told_too() -> None:
    newest = head(chain(3))
    [(number, sentence)] = faults([], newest)
    assert (number, sentence) == (1, "Entries 1 to 3 are missing: the end was cut off.")


def test_an_entry_of_another_name_is_told() -> None:
    entries = chain(3)
    entries.append(("zzz", entries[0][1]))
    assert [number for number, _ in faults(entries, head(chain(3)))] == [0]


def pruned(count: int, upto: int) -> Entries:
    entries = chain(count)
    digest = audit.digest_of(entries[upto - 1][1])
    append(entries, act=audit.PRUNED, dropped=(upto, digest))
    append(entries)
    return entries


def test_what_was_dropped_by_an_entry_is_not_missing() -> None:
    entries = pruned(6, 4)
    assert faults(entries) == []
    # Also while it is being dropped.
    assert faults(entries[2:], head(entries)) == []
    looking = Chain()
    looking.look_at(entries[4:])
    verdict = looking.verdict(head(entries))
    assert (verdict.sound, verdict.pruned, verdict.checked) == (True, 4, 4)


def test_more_than_was_dropped_is_missing() -> None:
    entries = pruned(6, 4)
    [(number, sentence)] = faults(entries[5:], head(entries))
    assert (number, "Entry 5 is missing" in sentence) == (5, True)


def test_another_beginning_than_what_was_dropped_is_told() -> None:
    entries = pruned(6, 4)
    name, body = entries[4]
    entries[4] = (name, body.replace(b"create_token", b"delete_token"))
    assert [number for number, _ in faults(entries[4:], head(entries))] == [5]
    other = chain(3)
    append(other, act="x")
    append(other, act="x", previous="0" * 64)
    digest = audit.digest_of(other[3][1])
    append(other, act=audit.PRUNED, dropped=(4, digest))
    assert [number for number, _ in faults(other[4:], head(other))] == [5]


def test_what_somebody_noted_must_be_there() -> None:
    entries = chain(6)
    noted = head(entries[:3])
    assert faults(entries, noted=noted) == []
    anew = chain(6, act="another")
    assert faults(anew, noted=head(entries))[0][0] == 6
    assert [number for number, _ in faults(entries[:2], head(entries[:2]), noted=noted)] == [3]
    # What was dropped on purpose cannot be looked for.
    left = pruned(6, 4)
    assert faults(left[4:], head(left), noted=noted) == []


def test_long_texts_are_cut() -> None:
    assert audit.short("x" * 1000) == "x" * 499 + "…"
    assert audit.short("x") == "x"
    assert audit.short(None) is None


def test_a_head_that_cannot_be_read_is_none() -> None:
    assert audit.head_of(b"nonsense") == Head()
    assert audit.head_of(audit.encode(Head(number=3, digest="d"))).number == 3


def test_an_entry_is_shown_with_its_digest() -> None:
    [(_, body)] = chain(1, by="ada", target="x")
    entry = audit.read(body)
    assert entry is not None
    shown = audit.shown(entry, body)
    assert (shown.number, shown.by, shown.target, shown.digest) == (1, "ada", "x", audit.digest_of(body))
