"""Tests of the shell once more, with a server behind the URL."""

from __future__ import annotations

from tests.cli.test_adding import *  # noqa: F403
