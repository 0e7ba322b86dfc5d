"""The examples of a machine, divided among tests that run side by side.

Each draws from a seed of its own, always the same: what it finds it finds again. `DIBS_MODEL_EXAMPLES=2000` lets each
explore at random instead, and that often.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

import hypothesis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = int(os.environ.get("DIBS_MODEL_EXAMPLES", "0"))
STEPS = 40


def explore(machine: Callable[[], RuleBasedStateMachine], seed: int, examples: int) -> None:
    """Run some examples, and the simplest there is, with which Hypothesis begins each time."""
    factory = machine if EXAMPLES else hypothesis.seed(seed)(machine)
    run_state_machine_as_test(
        cast("Any", factory),
        settings=settings(
            max_examples=EXAMPLES or 1 + examples,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=not EXAMPLES,
            suppress_health_check=list(HealthCheck),
        ),
    )
