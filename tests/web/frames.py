"""How smooth a page is: how many frames it drew while something went on, and what each cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import FloatRect, Page

BEGIN = """() => {
    window.__frames = [];
    let last = performance.now();
    const tick = now => {
        if (!window.__frames) return;
        window.__frames.push(now - last);
        last = now;
        requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
}"""
END = "() => { const frames = window.__frames.slice(1); window.__frames = null; return frames; }"


LONGEST_MS = 16
"""60 frames a second are 16.7 ms each."""


class Frames(NamedTuple):
    """How many frames a second there were, how long the longest took, and what a frame cost: the time that the page's
    own thread was at work, which other programs on the machine do not change."""

    rate: float
    longest_ms: float
    cost_ms: float

    def __str__(self) -> str:
        return f"{self.rate:.0f} frames/s, longest {self.longest_ms:.0f} ms, {self.cost_ms:.1f} ms of work a frame"


class Watch:
    """`with Watch(page) as watch: …`, then `watch.told`."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.told = Frames(0, 0, 0)
        self._devtools = page.context.new_cdp_session(page)

    def _worked_s(self) -> float:
        told = self._devtools.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in told if one["name"] == "TaskDuration"))

    def __enter__(self) -> Watch:
        self._devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._before = self._worked_s()
        self.page.evaluate(BEGIN)
        return self

    def __exit__(self, *_: object) -> None:
        lengths = self.page.evaluate(END)
        worked_ms = 1000 * (self._worked_s() - self._before)
        self._devtools.detach()
        self.told = Frames(1000 * len(lengths) / sum(lengths), max(lengths), worked_ms / len(lengths))


def cheapest(page: Page, act: Callable[[], object]) -> Frames:
    """What frames cost while something goes on. If that is too much, once more, and again: what else the machine does
    only adds to it."""
    found = []
    for _ in range(3):
        with Watch(page) as watch:
            act()
        found.append(watch.told)
        if watch.told.cost_ms < LONGEST_MS:
            break
    return min(found, key=lambda frames: frames.cost_ms)


class Held(NamedTuple):
    """What a page holds once its garbage is gone."""

    mb: float
    nodes: int

    def __str__(self) -> str:
        return f"{self.mb:.1f} MB, {self.nodes:,} nodes"


def held(page: Page) -> Held:
    """The megabytes of its scripts, and the nodes of its documents, also those that are in none any more."""
    devtools = page.context.new_cdp_session(page)
    try:
        for _ in range(2):
            devtools.send("HeapProfiler.collectGarbage")
        used: float = devtools.send("Runtime.getHeapUsage")["usedSize"]
        nodes: int = devtools.send("Memory.getDOMCounters")["nodes"]
        return Held(used / 1e6, nodes)
    finally:
        devtools.detach()


def drags(page: Page, box: FloatRect, count: int) -> Iterator[None]:
    """Pans a picture to and fro with the mouse, a step at a time."""
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    for turn in range(count):
        sign = 1 if turn % 2 else -1
        page.mouse.move(x, y)
        page.mouse.down()
        for step in range(20):
            page.mouse.move(x + sign * step * 12, y + sign * step * 6)
            yield
        page.mouse.up()
