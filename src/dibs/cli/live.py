"""Views that stay on the screen and are drawn again: `top`, and `tree --watch`. Left with q or Ctrl-C."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dibs.cli.render import console

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType


def keep_drawing(draw: Callable[[int, int], tuple[RenderableType, bool]], interval_s: float) -> None:
    """Draw again and again until `draw` says it is over, or the person leaves.

    `draw` gets the columns and lines there is room for. The view has the terminal to itself and vanishes in the end.
    """
    from rich.live import Live

    surface = console()
    with _Keys() as keys, Live(console=surface, screen=True, auto_refresh=False) as live:
        try:
            while True:
                view, over = draw(surface.width, surface.height)
                live.update(view, refresh=True)
                if over or keys.left(interval_s):
                    return
        except KeyboardInterrupt:
            return


class _Keys:
    """Single key presses, without waiting for Enter, while the view is shown."""

    def __enter__(self) -> _Keys:
        self._fd: int | None = None
        if sys.stdin.isatty():
            import termios
            import tty

            self._fd = sys.stdin.fileno()
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd)
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd is not None:
            import termios

            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def left(self, timeout_s: float) -> bool:
        """Wait for a moment; whether q was pressed meanwhile."""
        if self._fd is None:
            import time

            time.sleep(timeout_s)
            return False
        import os
        import select

        ready, _, _ = select.select([self._fd], [], [], timeout_s)
        if not ready:
            return False
        pressed = os.read(self._fd, 64)
        return not pressed or b"q" in pressed.lower()
