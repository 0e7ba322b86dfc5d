"""How Hypothesis runs here: a busy machine must not fail a test, so no example has a time limit of its own."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("rules", deadline=None)
settings.load_profile("rules")
