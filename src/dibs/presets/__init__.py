"""Coding agents that `dibs run --preset` knows: how each is called, and what its output means.

A preset is a file of this folder: a command line and a `Reader`, which understands the lines that the program writes.
Both are pure. What they rest on is in the docstring of each file, with the version that it was read from. A program
that is not here is a plain command (`dibs run -- CMD`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import Invalid

if TYPE_CHECKING:
    from dibs.presets.preset import Preset

NAMES = ("aider", "claude", "codex", "gemini", "opencode")


def find(name: str) -> Preset:
    """The preset of this name; Invalid names those there are."""
    if name not in NAMES:
        raise Invalid(
            f"there is no preset {name!r}, only {', '.join(NAMES)}; another program runs as `dibs run … -- CMD`.",
            field="preset",
        )
    module = __import__(f"dibs.presets.{name}", fromlist=["PRESET"])
    preset: Preset = module.PRESET
    return preset
