"""`python -m tests.architecture`: the figures of the house beside their bounds and goals, and what each verb enters.

It ends with 1 where a figure is above its bound and grants. `--static` prints what needs no server; `--tighten` writes
figures that have fallen into bounds.toml.
"""

from __future__ import annotations

import argparse
import sys

from tests.architecture import bounds, house, tracer


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.architecture", description="The house: figures and bounds.")
    parser.add_argument("--static", action="store_true", help="only figures that need no server")
    parser.add_argument("--tighten", action="store_true", help="write what has fallen into bounds.toml")
    options = parser.parse_args()
    today = {**house.figures(), "store_methods": len(house.store_methods())}
    allowed = bounds.read()
    print(static_table(today, allowed))
    if not options.static:
        entered = tracer.trace_all()
        traced = tracer.by_name(entered)
        today |= traced
        print(f"\nFiles / functions of src/dibs that one warm call enters\n\n{tracer_table(entered)}")
        print(f"\n{falls(traced, allowed) or 'No bound of these can fall.'}")
    if options.tighten:
        before = bounds.FILE.read_text("utf-8")
        after = bounds.tightened(before, today)
        bounds.FILE.write_text(after, "utf-8")
        print(f"\n{bounds.FILE.name} " + ("has lower bounds now." if after != before else "stays as it is."))
    wrong = bounds.excesses(today, allowed)
    if wrong:
        print("\n" + "\n\n".join(wrong), file=sys.stderr)
    return int(bool(wrong))


def static_table(today: dict[str, int], allowed: bounds.Bounds) -> str:
    rows: list[tuple[str, ...]] = [("figure", "18 Nov", "today", "bound", "grants", "goal", "")]
    for name, about in house.FIGURES.items():
        shown = about.november, today[name], allowed.bounds.get(name), allowed.granted(name) or None, about.goal
        note = "ABOVE" if bounds.excesses({name: today[name]}, allowed) else _can_fall(name, today[name], allowed)
        rows.append((name, *("–" if figure is None else f"{figure:,}" for figure in shown), note))
    return _table(rows)


def tracer_table(entered: tracer.Figures) -> str:
    verbs = dict.fromkeys(verb for verb, _ in entered)
    rows: list[tuple[str, ...]] = [("verb", *tracer.STORES, "goal on SQLite")]
    for verb in verbs:
        cells = [entered.get((verb, store)) for store in tracer.STORES]
        shown = ["–" if cell is None else f"{cell.files} / {cell.functions}" for cell in cells]
        rows.append((verb, *shown, tracer.GOALS.get(verb, "–")))
    return _table(rows)


def falls(today: dict[str, int], allowed: bounds.Bounds) -> str:
    """Which bounds can be lowered, and to what."""
    notes = {name: _can_fall(name, figure, allowed) for name, figure in today.items()}
    return "\n".join(f"{name} {note}" for name, note in notes.items() if note)


def _can_fall(name: str, figure: int, allowed: bounds.Bounds) -> str:
    if name not in allowed.bounds or (lowest := allowed.lowest(name, figure)) == allowed.bounds[name]:
        return ""
    return f"can fall to {lowest:,}"


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *rest in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
