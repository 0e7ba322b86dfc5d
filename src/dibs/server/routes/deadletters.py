"""Dead letters and decisions about them."""

from __future__ import annotations

from dibs.server.handling import router_of

router = router_of("deadletters")
