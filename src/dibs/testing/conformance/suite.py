"""All topics in one class."""

from __future__ import annotations

from dibs.testing.conformance.adding import Adding
from dibs.testing.conformance.agentbudgets import AgentBudgets
from dibs.testing.conformance.agents import Agents
from dibs.testing.conformance.approving import Approving
from dibs.testing.conformance.artifacts import Artifacts, Referring
from dibs.testing.conformance.asking import Asking
from dibs.testing.conformance.auditing import Auditing
from dibs.testing.conformance.badinput import BadInput
from dibs.testing.conformance.beneath import Beneath
from dibs.testing.conformance.breakers import Breakers
from dibs.testing.conformance.budgetchanges import BudgetChanges
from dibs.testing.conformance.budgets import Budgets
from dibs.testing.conformance.cancelling import Cancelling
from dibs.testing.conformance.carrying import Carrying
from dibs.testing.conformance.claiming import Claiming
from dibs.testing.conformance.coalescing import Coalescing
from dibs.testing.conformance.contracts import Contracts
from dibs.testing.conformance.costs import Costs
from dibs.testing.conformance.dags import Dags
from dibs.testing.conformance.deadletters import DeadLetters
from dibs.testing.conformance.deadlines import Deadlines
from dibs.testing.conformance.deciding import Deciding
from dibs.testing.conformance.documents import Documents
from dibs.testing.conformance.escalating import Escalating
from dibs.testing.conformance.events import Events
from dibs.testing.conformance.graphs import Graphs, Linking
from dibs.testing.conformance.hooks import Hooks
from dibs.testing.conformance.idempotency import Idempotency
from dibs.testing.conformance.journal import Journal
from dibs.testing.conformance.judgingcosts import JudgingCosts
from dibs.testing.conformance.keeping import Keeping
from dibs.testing.conformance.large import Large
from dibs.testing.conformance.leases import Leases
from dibs.testing.conformance.limits import Limits
from dibs.testing.conformance.locks import Locks
from dibs.testing.conformance.logins import Logins
from dibs.testing.conformance.measuring import Measuring
from dibs.testing.conformance.outcomes import Outcomes
from dibs.testing.conformance.overdrawing import Overdrawing
from dibs.testing.conformance.overflowing import Overflowing
from dibs.testing.conformance.overseeing import Overseeing
from dibs.testing.conformance.passing import Passing
from dibs.testing.conformance.pausing import Pausing
from dibs.testing.conformance.priorities import Priorities
from dibs.testing.conformance.providers import Providers
from dibs.testing.conformance.querying import Querying
from dibs.testing.conformance.rates import Rates
from dibs.testing.conformance.reading import Counting, Explaining, Finding, Waiting
from dibs.testing.conformance.reassigning import Reassigning
from dibs.testing.conformance.retention import Retention
from dibs.testing.conformance.retrying import Retrying
from dibs.testing.conformance.schedules import Schedules
from dibs.testing.conformance.settling import Settling
from dibs.testing.conformance.slots import Slots
from dibs.testing.conformance.spawning import Spawning
from dibs.testing.conformance.steering import Steering
from dibs.testing.conformance.tenancy import Tenancy
from dibs.testing.conformance.timeouts import Timeouts
from dibs.testing.conformance.tokens import Tokens
from dibs.testing.conformance.triggers import Triggers
from dibs.testing.conformance.validating import Validating
from dibs.testing.conformance.windows import Windows


class StoreConformance(
    Adding,
    AgentBudgets,
    Agents,
    Approving,
    Artifacts,
    Asking,
    Auditing,
    BadInput,
    Beneath,
    Breakers,
    BudgetChanges,
    Budgets,
    Cancelling,
    Carrying,
    Claiming,
    Coalescing,
    Contracts,
    Costs,
    Counting,
    Dags,
    Deadlines,
    DeadLetters,
    Deciding,
    Documents,
    Escalating,
    Events,
    Explaining,
    Finding,
    Graphs,
    Hooks,
    Idempotency,
    Journal,
    JudgingCosts,
    Keeping,
    Large,
    Leases,
    Limits,
    Linking,
    Locks,
    Logins,
    Measuring,
    Outcomes,
    Overdrawing,
    Overflowing,
    Passing,
    Pausing,
    Priorities,
    Providers,
    Overseeing,
    Querying,
    Steering,
    Rates,
    Reassigning,
    Referring,
    Retention,
    Retrying,
    Schedules,
    Settling,
    Slots,
    Spawning,
    Tenancy,
    Timeouts,
    Tokens,
    Triggers,
    Validating,
    Waiting,
    Windows,
):
    """Every test. Subclass it in a test file under a name that pytest collects, and say how to open your store."""
