"""A bar chart as SVG, written by hand: two bars per contestant, the fastest first, and the limit of the store."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH = 860
LEFT, RIGHT, TOP, BOTTOM = 170, 90, 96, 34
ROW, BAR, GAP = 46, 15, 3
STEPS = (1, 2, 2.5, 5, 10)
MOST_LINES = 7

STYLE = """\
  .page { fill: #ffffff } .text { fill: #1f2430 } .faint { fill: #6b7280 } .grid { stroke: #e5e7eb }
  .ours1 { fill: #b45309 } .ours2 { fill: #f59e0b } .theirs1 { fill: #475569 } .theirs2 { fill: #a3b1c6 }
  .limit { stroke: #be123c; stroke-dasharray: 5 4; stroke-width: 1.5 } .limit-text { fill: #be123c }
  text { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif }
  .title { font-size: 18px; font-weight: 600 } .small { font-size: 12px } .strong { font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #262c36 }
    .theirs1 { fill: #8b98ab } .theirs2 { fill: #55617a } .limit { stroke: #fb7185 } .limit-text { fill: #fb7185 }
  }"""


@dataclass(frozen=True)
class Bars:
    """One contestant: its rates with one worker process and with two."""

    name: str
    language: str
    one: float | None
    two: float | None

    @property
    def best(self) -> float:
        return max(self.one or 0, self.two or 0)


def svg(contestants: list[Bars], limit: float | None, caption: str) -> str:
    """The chart, as a document of its own."""
    ordered = sorted(contestants, key=lambda bars: bars.best, reverse=True)
    most = max([bars.best for bars in ordered] + ([limit] if limit else []))
    step = _step(most)
    height = TOP + ROW * len(ordered) + BOTTOM
    plot = WIDTH - LEFT - RIGHT

    def x(value: float) -> float:
        return LEFT + plot * value / most

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-label="Tasks per second with one and two worker processes">',
        f"<style>\n{STYLE}\n</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}" rx="8"/>',
        '<text class="text title" x="24" y="34">Drain: no-op tasks per second, claimed, run and settled</text>',
        *_legend(),
        f'<text class="faint small" x="{WIDTH - 24}" y="34" text-anchor="end">{escape(caption)}</text>',
    ]
    bottom = TOP + ROW * len(ordered)
    for number in range(int(most / step) + 1):
        at = x(number * step)
        lines.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
        lines.append(
            f'<text class="faint small" x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{number * step:,.0f}</text>'
        )
    for number, bars in enumerate(ordered):
        lines += _row(bars, TOP + ROW * number, x)
    if limit:
        at = x(limit)
        lines.append(f'<line class="limit" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP - 10}" y2="{bottom}"/>')
        lines.append(
            f'<text class="limit-text small" x="{at:.1f}" y="{TOP - 16}" text-anchor="middle">'
            f"raw limit {limit:,.0f}</text>"
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _row(bars: Bars, top: float, x: Callable[[float], float]) -> list[str]:
    ours = bars.name.startswith("dibs")
    kind = "ours" if ours else "theirs"
    middle = top + (ROW - 6) / 2
    weight = " strong" if ours else ""
    lines = [
        f'<text class="text{weight}" x="{LEFT - 12}" y="{middle - 1:.1f}" text-anchor="end">{escape(bars.name)}</text>',
        f'<text class="faint small" x="{LEFT - 12}" y="{middle + 14:.1f}" text-anchor="end">{bars.language}</text>',
    ]
    for number, value in ((1, bars.one), (2, bars.two)):
        if value is None:
            continue
        bar_top = top + 3 + (number - 1) * (BAR + GAP)
        end = x(value)
        width = max(1.5, end - LEFT)
        lines.append(
            f'<rect class="{kind}{number}" x="{LEFT}" y="{bar_top}" width="{width:.1f}" height="{BAR}" rx="2"/>'
        )
        lines.append(
            f'<text class="text small{weight}" x="{LEFT + width + 6:.1f}" y="{bar_top + 12}">{value:,.0f}</text>'
        )
    return lines


def _legend() -> list[str]:
    """One swatch per number of workers: dibs' colours and everybody else's side by side."""
    lines = []
    for left, number, words in ((24, 1, "1 worker process"), (190, 2, "2 worker processes")):
        lines += [
            f'<rect class="ours{number}" x="{left}" y="50" width="12" height="12" rx="2"/>',
            f'<rect class="theirs{number}" x="{left + 14}" y="50" width="12" height="12" rx="2"/>',
            f'<text class="faint small" x="{left + 33}" y="60">{words}</text>',
        ]
    return lines


def _step(most: float) -> float:
    """The roundest distance of grid lines that needs few of them."""
    power = 10 ** int(log10(most) - 1) if most >= 10 else 1
    for scale in (1, 10):
        for step in STEPS:
            if most / (step * power * scale) <= MOST_LINES:
                return step * power * scale
    return most
