"""The areas whose tests are tried out, the tests that name a file's topic, and the draw of what is changed.

The draw is by a hash of the seed and of each change's own words, so that an edit elsewhere changes few choices.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests import selection
from tests.mutations import python, sql
from tests.mutations.site import Site, changed, line_of

if TYPE_CHECKING:
    from collections.abc import Iterable

EACH = 10
"""How many are drawn in an area."""
_OF_A_FILE = 1
_OF_A_KIND = 3


class Area(NamedTuple):
    """Files, and the tests that are tried on them: of these folders and stores, those that name the file's topic."""

    name: str
    files: tuple[str, ...]
    tests: tuple[str, ...]
    store: str
    without: tuple[str, ...] = ()


_SUITE = ("tests/stores/test_conformance.py", "tests/stores/test_conformance_http.py")
_AUTHORISATION = (
    *("src/dibs/stores/confined.py", "src/dibs/stores/homes.py", "src/dibs/stores/refusals.py"),
    *("src/dibs/tenancy.py", "src/dibs/tokens.py", "src/dibs/localtokens.py", "src/dibs/logins.py"),
    *("src/dibs/rules/access.py", "src/dibs/rules/tokens.py", "src/dibs/rules/logins.py"),
    *("src/dibs/server/authority.py", "src/dibs/server/admitting.py", "src/dibs/server/callers.py"),
    *("src/dibs/server/cookies.py", "src/dibs/server/logins.py", "src/dibs/server/origins.py"),
    *("src/dibs/server/queues.py", "src/dibs/server/welcoming.py", "src/dibs/server/routes/login.py"),
)
AREAS = (
    Area("rules", ("src/dibs/rules/*.py",), ("tests/rules", *_SUITE), "memory", _AUTHORISATION),
    Area("ledger", ("src/dibs/stores/ledger/*.py",), ("tests/stores",), "memory"),
    Area("sqlite", ("src/dibs/stores/sqlite/*.py", "src/dibs/stores/sqlite/sql/*.sql"), ("tests/stores",), "sqlite"),
    Area("plpgsql", ("src/dibs/stores/postgres/functions/*.sql",), ("tests/stores",), "postgres"),
    Area(
        "authorisation",
        _AUTHORISATION,
        ("tests/rules", "tests/stores", "tests/server", "tests/mcp", "tests/cli", "tests/doors"),
        "memory",
    ),
    Area("worker", ("src/dibs/worker/*.py", "src/dibs/worker/executors/*.py"), ("tests/worker", "tests/presets"), ""),
)

# What tests a file, where that is more or other than the tests that have its name. Each word is part of a test file's
# name, or of the name of a file of the conformance suite.
TOPICS: dict[str, str] = {
    # rules
    "after_failure": "after_failure retrying settling",
    "alarms": "alarms budgets",
    "audit": "audit",
    "blocks": "blocks",
    "breaker": "breaker",
    "closing": "pausing breakers rates providers why_closed",
    "documents": "documents",
    "escalation": "escalat",
    "exposition": "exposition metrics",
    "flow": "flow overseeing measuring",
    "graph": "graph dags",
    "handover": "handover graphs large",
    "large": "large",
    "lifecycle": "lifecycle settling retrying",
    "made": "made validating",
    "matching": "matching claiming agents",
    "metrics": "metrics measuring",
    "overview": "overview overseeing",
    "plain_json": "plain_json badinput",
    "priority": "priorit claiming",
    "providers": "providers",
    "query": "query steering",
    "questions": "questions asking",
    "refs": "refs artifacts",
    "repeating": "repeating idempotency",
    "retry": "retry after_failure",
    "review": "review deadletters deciding",
    "schedule": "schedule",
    "spending": "spending costs overseeing",
    "tagging": "tagging steering",
    "templates": "templates schedules triggers",
    "ticks": "ticks schedules",
    "usage": "usage costs limits",
    "validation": "validation badinput",
    "why": "why reading",
    # stores
    "add": "adding idempotency",
    "admission": "locks budgets coalescing slots",
    "agents": "agents",
    "allotting": "budgets budgetchanges providers",
    "breakers": "breakers",
    "budgets": "budgets budgetchanges passing overdrawing",
    "bulk": "adding large",
    "carrying": "carrying",
    "cascade": "cancelling graphs dags",
    "check": "beneath claiming settling",
    "claim": "claiming priorities leases",
    "claim_read": "claiming",
    "claim_take": "claiming",
    "claiming": "claiming priorities leases",
    "dag": "dags graphs",
    "dags": "dags graphs",
    "dead_letters": "deadletters",
    "dead_letters_grouped": "deadletters",
    "ending": "settling retrying costs outcomes",
    "engine": "sqlite adding events",
    "escalating": "escalat",
    "events": "events",
    "find": "finding querying reading",
    "finding": "finding querying reading",
    "holding": "leases",
    "homes": "tenancy confined",
    "insert": "adding graphs idempotency spawning",
    "insert_look": "adding graphs",
    "insert_mixed": "adding graphs",
    "insert_one": "adding",
    "inserting": "adding graphs idempotency spawning",
    "jobs": "sqlite adding",
    "joining": "graphs dags adding",
    "keys": "idempotency adding",
    "lanes": "claiming pausing priorities",
    "left": "carrying",
    "link": "graphs reassigning steering approving",
    "linking": "graphs reassigning steering approving",
    "links": "graphs reassigning steering approving",
    "loading": "carrying",
    "locking": "graphs cancelling retrying locks",
    "looking": "reading graphs dags",
    "moving": "settling claiming leases graphs",
    "news": "events beneath news",
    "next_due": "claiming leases beneath",
    "opening": "sqlite upgrading",
    "order": "claiming priorities leases",
    "outbox": "events",
    "priced": "costs outcomes budgets settling",
    "prune": "retention",
    "read_events": "events",
    "reading": "reading dags events",
    "ready": "graphs adding claiming",
    "records": "settling claiming reading",
    "registry": "agents",
    "reviving": "retrying",
    "revive": "retrying",
    "rows": "reading adding claiming",
    "saving": "passing budgets",
    "settle": "settling outcomes retrying leases",
    "settle_attempts": "settling outcomes",
    "settle_look": "settling outcomes",
    "settling": "settling outcomes retrying leases",
    "slots": "slots locks",
    "snapshots": "reading claiming settling",
    "state": "claiming settling graphs",
    "statements": "claiming adding settling",
    "stats": "reading",
    "store": "adding claiming settling reading",
    "suspending": "asking spawning",
    "time": "priorities claiming leases",
    "timing": "leases timeouts deadlines priorities retrying",
    "turns": "sqlite adding",
    "typeslots": "slots",
    "unloading": "carrying",
    "validating": "validating judgingcosts",
    "whole": "claiming reading graphs",
    "windows": "windows",
    "work": "settling graphs retrying cancelling",
    # authorisation
    "access": "access tenancy tokens roles authority confined",
    "admitting": "admitting roles tokens authority",
    "authority": "authority tokens roles admitting",
    "callers": "authority roles tokens admitting",
    "confined": "confined tenancy refused roles",
    "cookies": "logins origins tokens admitting",
    "localtokens": "local_tokens tokens welcoming",
    "login": "login",
    "logins": "logins login_link",
    "origins": "origins",
    "queues": "tenancy roles authority tokens",
    "refusals": "refused confined tenancy",
    "tenancy": "tenancy confined roles",
    "tokens": "tokens authority",
    "welcoming": "welcoming local_tokens",
    # worker
    "agent": "programs worktrees readers finishing",
    "app": "handlers worker",
    "bell": "bell",
    "child": "executors signals",
    "command": "executors proofs",
    "context": "context asking artifacts hearing spending",
    "groups": "executors groups",
    "handing": "artifacts",
    "line": "context handlers asking worker",
    "minder": "minder executors",
    "offers": "worker handlers presence",
    "outcomes": "handlers context worker",
    "pace": "worker chances",
    "patience": "worker",
    "presence": "presence",
    "process": "executors signals",
    "proofs": "proofs judging",
    "renewals": "worker signals",
    "repository": "worktrees finishing",
    "running": "signals",
    "seeking": "worker chances",
    "settlements": "handlers contracts worker",
    "settler": "worker handlers",
    "sparing": "providers",
    "sweep": "worker budgets handlers",
    "telling": "worker handlers",
    "templates@worker": "executors",
    "threads": "executors",
    "together": "groups",
    "tracing": "tracing exporting",
    "transcript": "executors programs",
    "work@worker": "worker handlers",
    "worker": "worker presence",
    "worktrees": "worktrees finishing",
}


class Mutation(NamedTuple):
    """One change of one file."""

    area: str
    path: str
    number: int
    line: str
    became: str
    site: Site

    @property
    def stem(self) -> str:
        return Path(self.path).stem

    @property
    def change(self) -> str:
        """The line, and what became of it, as far as they differ."""
        return f"{self.line} → {self.became}"


def topics_of(area: Area, path: str) -> tuple[str, ...]:
    """The words of which a test's file has one in its name, to be tried on a change of this file."""
    stem = Path(path).stem
    words = TOPICS.get(f"{stem}@{area.name}") or TOPICS.get(stem) or stem
    return tuple(words.split())


def unnamed(root: Path) -> list[str]:
    """Files of the areas whose topic no test of their area names."""
    return [
        path
        for area in AREAS
        for path in files_of(root, area)
        if not any(word in topic for word in topics_of(area, path) for topic in _named(root, area))
    ]


def _named(root: Path, area: Area) -> set[str]:
    found = {file.stem for path in area.tests for file in [root / path, *(root / path).rglob("test_*.py")]}
    return found | (selection.suite_topics() if "test_conformance" in found else set())


def files_of(root: Path, area: Area) -> list[str]:
    """The files of an area, as paths below the root."""
    found = (path for pattern in area.files for path in root.glob(pattern))
    names = {path.relative_to(root).as_posix() for path in found}
    return sorted(name for name in names if name not in area.without and not name.endswith("/__init__.py"))


def mutations_of(path: str, source: str, area: str) -> Iterable[Mutation]:
    """Every change that could be made to a file."""
    is_python = path.endswith(".py")
    sites = python.sites(source) if is_python else sql.sites(source, in_function="/functions/" in path)
    for site in sites:
        number, line = line_of(source, site.start)
        became = line_of(changed(source, site), site.start)[1]
        yield Mutation(area, path, number, line, became, site)


def draw(root: Path, area: Area, seed: int, count: int = EACH) -> list[Mutation]:
    """So many changes of an area: of many files, and of all kinds."""
    drawn: list[tuple[str, Mutation]] = []
    for path in files_of(root, area):
        times = Counter[str]()
        for each in mutations_of(path, (root / path).read_text(), area.name):
            words = "\n".join((path, each.site.within, each.site.kind, each.line, each.became))
            times[words] += 1
            drawn.append((_hash(seed, words, times[words]), each))
    drawn.sort()
    chosen: list[Mutation] = []
    # Where an area has few files, some of them get another turn.
    for of_a_file in range(_OF_A_FILE, len(drawn) + 1):
        for _, each in drawn:
            files, kinds = Counter(one.path for one in chosen), Counter(one.site.kind for one in chosen)
            fits = files[each.path] < of_a_file and (kinds[each.site.kind] < _OF_A_KIND or of_a_file > _OF_A_KIND)
            if fits and each not in chosen and len(chosen) < count:
                chosen.append(each)
        if len(chosen) == count:
            break
    return sorted(chosen, key=lambda each: (each.path, each.number, each.site.start))


def _hash(seed: int, words: str, time: int) -> str:
    return hashlib.sha256(f"{seed}\n{time}\n{words}".encode()).hexdigest()
