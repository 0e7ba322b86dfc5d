"""The audit, for admins."""

from __future__ import annotations

from dibs.server.handling import router_of

router = router_of("audit")
