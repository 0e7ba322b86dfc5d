"""All tasks that a query finds."""

from __future__ import annotations

from dibs.server.handling import router_of

router = router_of("found")
