"""What decision reports must say."""

from __future__ import annotations

from dibs.server.handling import router_of

router = router_of("reports")
