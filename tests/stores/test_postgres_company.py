"""Whether a hint leaves with its commit depends on whether that makes the commit wait for others."""

from __future__ import annotations

from dibs.stores.postgres.hints import Company


def commits(company: Company, count: int, *, hinting_s: float, usual_s: float = 0.001) -> list[bool]:
    """Small commits, one after the other; which of them notified."""
    hinted = []
    for _ in range(count):
        hinted.append(company.allows())
        company.took(hinted[-1], hinting_s if hinted[-1] else usual_s)
    return hinted


def test_alone_nearly_every_commit_notifies() -> None:
    hinted = commits(Company(), 160, hinting_s=0.0011)
    assert sum(hinted) == 150, "one in sixteen shows how long a commit takes without"


def test_among_many_who_notify_hints_leave_by_themselves() -> None:
    hinted = commits(Company(), 1_000, hinting_s=0.004)
    assert sum(hinted[:16]) == 15
    assert sum(hinted[16:]) <= 16, "one in sixty-four shows whether it is still so"


def test_when_the_others_have_left_commits_notify_again() -> None:
    company = Company()
    commits(company, 200, hinting_s=0.004)
    assert sum(commits(company, 1_000, hinting_s=0.001)[-160:]) == 150
