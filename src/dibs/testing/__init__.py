"""What users import in their own tests: a clock to move by hand, and the conformance suite for stores."""

from __future__ import annotations

from dibs.testing.clock import FakeClock

__all__ = ["FakeClock"]
