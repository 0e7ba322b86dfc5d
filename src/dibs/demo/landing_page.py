"""The graph of the demo: from a goal to a page in production, thirteen tasks and one that nobody planned."""

from __future__ import annotations

from typing import Any

from dibs.model.retry import Retry
from dibs.model.task import NewTask

TITLE = "Landing page for Northwind Coffee"
ORCHESTRATOR = "orchestrator"

FLAKY = "analytics"
"""Fails twice, then succeeds."""

DOOMED = "signup"
"""Whoever works on it, once, is killed."""

MAX_ATTEMPTS = 9
"""An agent may lose its lease because the machine stands still: that is an attempt, too, also at what fails twice."""

KINDS = ("plan", "research", "design", "write", "code", "test", "deploy")
"""The types of the demo's tasks."""


def tasks(prefix: str = "") -> list[NewTask]:
    """The whole graph. `prefix` sets the types apart, so that no other agent of a shared store takes them."""

    def task(ref: str, kind: str, title: str, seconds: float, cost: float, **options: Any) -> NewTask:
        notes = options.pop("notes", None) or ("reading the brief", "thinking", "writing it down")
        extra = options.pop("extra", {})
        payload = {"seconds": seconds, "cost": cost, "notes": notes, **extra}
        return NewTask(
            prefix + kind,
            payload,
            ref=ref,
            title=title,
            retry=Retry(strategy="fixed", delay=0.6, jitter=0),
            max_attempts=MAX_ATTEMPTS,
            tags=("demo",),
            **options,
        )

    return [
        task("plan", "plan", "Turn the goal into a plan", 0.9, 0.031, requires=["planning"]),
        task(
            "competitors",
            "research",
            "Research five competitors",
            1.2,
            0.042,
            after=["plan"],
            requires=["web-search"],
            notes=("searching", "reading beanly.example", "comparing prices"),
            extra={"dig": {"title": "Dig into Beanly's free tier", "type": prefix + "research"}},
        ),
        task(
            "audience",
            "research",
            "Find out who signs up, and why",
            1.1,
            0.038,
            after=["plan"],
            requires=["web-search"],
        ),
        task("brand", "design", "Choose colours and type", 0.9, 0.014, after=["plan"], requires=["design"]),
        task("wireframe", "design", "Design the wireframe", 1.4, 0.027, after=["plan"], requires=["design"]),
        task(
            "requirements",
            "plan",
            "Synthesize requirements",
            1.0,
            0.036,
            after=["competitors", "audience", "wireframe"],
            requires=["planning"],
            priority=20,
        ),
        task("copy", "write", "Write the copy", 1.2, 0.019, after=["requirements", "brand"], requires=["design"]),
        task(
            "hero", "code", "Implement the hero section", 1.3, 0.055, after=["requirements", "brand"], requires=["code"]
        ),
        task(
            DOOMED,
            "code",
            "Implement the sign-up form",
            1.2,
            0.061,
            after=["requirements"],
            requires=["code"],
            priority=30,
            notes=("sketching the form", "writing the handler", "validating e-mail addresses"),
            extra={"lingers": True},
        ),
        task(
            FLAKY,
            "code",
            "Wire up analytics",
            0.5,
            0.012,
            after=["requirements"],
            requires=["code"],
            priority=40,
            extra={"failures": 2},
        ),
        task(
            "assemble",
            "code",
            "Assemble the page",
            0.9,
            0.023,
            after=["copy", "hero", DOOMED, FLAKY],
            requires=["code"],
        ),
        task(
            "test",
            "test",
            "Test in three browsers",
            1.2,
            0.017,
            after=["assemble"],
            requires=["browser"],
            notes=("firefox", "chromium", "webkit"),
        ),
        task(
            "deploy",
            "deploy",
            "Deploy to production",
            0.8,
            0.004,
            after=["test"],
            requires=["deploy"],
            notes=("building", "uploading", "switching over"),
        ),
    ]
