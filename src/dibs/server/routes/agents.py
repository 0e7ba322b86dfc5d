"""Agents and lanes."""

from __future__ import annotations

from dibs.server.handling import router_of

router = router_of("agents")
