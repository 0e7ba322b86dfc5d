"""Tests of the shell once more, with a server behind the URL."""

from __future__ import annotations

from tests.cli.test_dead_letters import *  # noqa: F403
