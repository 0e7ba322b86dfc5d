"""Questions, approvals, answers."""

from __future__ import annotations

from dibs.server.handling import in_their_name, router_of

router = router_of("questions", {"answer": in_their_name})
