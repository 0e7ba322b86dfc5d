"""Questions, approvals, answers."""

from __future__ import annotations

from dibs.server.handling import router_of

router = router_of("questions")
