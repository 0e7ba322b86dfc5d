"""`dibs export` and `dibs import`: Loki's files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dibs.loki import lock as locking
from dibs.loki.format import QUEUES
from tests.loki.files import read, task, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
ID = "task_01j8k2m3n4p5q6r7s8t9v0w1x2"
BREAKERS = """
defaults:
  failureThreshold: 5
  cooldownSeconds: 300
overrides:
  ops-security:
    failureThreshold: 3   # more sensitive
"""


@pytest.fixture
def loki(tmp_path: Path) -> Path:
    """A folder in which something is in every file."""
    root = write(
        tmp_path / ".loki",
        pending=[
            task("review", type="eng-review", dependencies=["build", "plan"], priority=8),
            task("stuck", dependencies=["dead"]),
        ],
        in_progress=[task("build", claimedBy="agent-1", priority=10)],
        completed=[task("plan")],
        dead_letter=[task("dead", retries=3, lastError="503")],
        cancelled=[task("gone")],
    )
    (root / "config").mkdir()
    (root / "config" / "circuit-breakers.yaml").write_text(BREAKERS)
    return root


def below(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file() and path.name != "queue.lock"}


def test_import_adds_what_is_to_be_done_and_reports_the_rest(dibs: Run, loki: Path) -> None:
    before = below(loki)
    report = dibs("import", "--format", "loki", loki, "--json", ok=True).json
    assert report == {
        "format": "loki",
        "dir": str(loki),
        "dry_run": False,
        "added": 2,
        "already": 0,
        "added_from": {"in-progress": 1, "pending": 1},
        "left_out": {"completed": 1, "dead-letter": 1, "cancelled": 1},
        "stuck": ["stuck"],
        "in_two_files": [],
        "breakers": {
            "defaults": {"failureThreshold": 5, "cooldownSeconds": 300},
            "overrides": {"ops-security": {"failureThreshold": 3}},
            "applied": True,
        },
    }
    found = {breaker["type"]: breaker for breaker in dibs("breaker", "ls", "--json", ok=True).json}
    assert {type: (each["enabled"], each["failure_threshold"], each["cooldown_s"]) for type, each in found.items()} == {
        "*": (True, 5, 300),
        "ops-security": (True, 3, 300),
    }
    tasks = {found["ref"]: found for found in dibs("ls", "--json", ok=True).json["items"]}
    assert (tasks["build"]["status"], tasks["build"]["priority"], tasks["build"]["agent"]) == ("ready", 0, None)
    assert (tasks["review"]["status"], tasks["review"]["depends_on"]) == ("pending", [tasks["build"]["id"]])
    assert below(loki) == before


def test_import_tells_a_person_the_same(dibs: Run, loki: Path) -> None:
    told = dibs("import", loki, ok=True)
    assert told.out.splitlines() == [
        "added\t2 (1 in-progress, 1 pending)",
        "there already\t0",
        "left out\t1 completed, 1 dead-letter, 1 cancelled",
        "breakers\t5 failures, ops-security: 3 failures (from circuit-breakers.yaml; set)",
    ]
    assert "--dead-letters adds them" in told.err
    assert "because they wait for a task that was: stuck." in told.err
    assert dibs("import", loki, ok=True).out.splitlines()[:2] == ["added\t0", "there already\t2"]


def test_a_dry_run_sets_no_breakers(dibs: Run, loki: Path) -> None:
    report = dibs("import", loki, "--dry-run", "--json", ok=True).json
    assert report["breakers"]["applied"] is False
    assert "(from circuit-breakers.yaml; not set, dry run)" in dibs("import", loki, "--dry-run", ok=True).out
    [every] = dibs("breaker", "ls", "--json", ok=True).json
    assert (every["own"], every["enabled"]) == (False, False)


def test_export_writes_how_breakers_are_set(dibs: Run, loki: Path, tmp_path: Path) -> None:
    dibs("import", loki, ok=True)
    dibs("breaker", "set", "lint", "--off", ok=True)
    out = tmp_path / "out" / ".loki"
    report = dibs("export", out, "--json", ok=True).json
    assert (report["breakers"], report["breakers_off"]) == (["*", "ops-security"], ["lint"])
    assert (out / "config" / "circuit-breakers.yaml").read_text() == (
        "defaults:\n  failureThreshold: 5\n  cooldownSeconds: 300\n  halfOpenAfter: 60\n"
        "overrides:\n  ops-security:\n    failureThreshold: 3\n"
    )
    told = dibs("export", out, "--force", ok=True)
    assert told.out.splitlines()[-1] == "circuit-breakers.yaml\t*, ops-security"
    assert "Breakers that are off, for which Loki has no word, were left out: lint." in told.err


def test_export_does_not_replace_settings_unasked(dibs: Run, tmp_path: Path) -> None:
    settings = tmp_path / ".loki" / "config" / "circuit-breakers.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("defaults: {}\n")
    dibs("export", tmp_path / ".loki", ok=True)
    assert settings.read_text() == "defaults: {}\n", "nobody set any here: there is nothing to say"
    dibs("breaker", "set", "*", ok=True)
    for name in ("pending", "in-progress", "completed", "dead-letter", "cancelled"):
        (tmp_path / ".loki" / "queue" / f"{name}.json").unlink()
    refused = dibs("export", tmp_path / ".loki", "--json")
    assert (refused.code, refused.error["field"]) == (5, "dir")
    assert settings.read_text() == "defaults: {}\n"
    assert not list((tmp_path / ".loki" / "queue").iterdir())


def test_dead_letters_come_as_new_work_when_asked_for(dibs: Run, loki: Path) -> None:
    report = dibs("import", loki, "--dead-letters", "--json", ok=True).json
    assert (report["added"], report["stuck"], report["left_out"]["dead-letter"]) == (4, [], 0)
    tasks = {found["ref"]: found for found in dibs("ls", "--json", ok=True).json["items"]}
    assert (tasks["dead"]["status"], tasks["dead"]["max_attempts"]) == ("ready", 3)
    assert tasks["dead"]["context"]["loki"]["lastError"] == "503"
    assert tasks["stuck"]["depends_on"] == [tasks["dead"]["id"]]


def test_a_dry_run_adds_nothing_and_makes_no_store(dibs: Run, loki: Path, tmp_path: Path) -> None:
    report = dibs("import", loki, "--dry-run", "--json", ok=True).json
    assert (report["dry_run"], report["added"], report["already"]) == (True, 2, 0)
    assert not (tmp_path / "work.db").exists()
    assert dibs("import", loki, "--dry-run", ok=True).out.startswith("to add\t2")
    dibs("import", loki, ok=True)
    assert dibs("import", loki, "--dry-run", "--json", ok=True).json["already"] == 2


def test_a_task_in_two_files_is_told(dibs: Run, tmp_path: Path) -> None:
    root = write(tmp_path / "x", pending=[task("a"), task("b")], completed=[task("a")])
    told = dibs("import", root, ok=True)
    assert told.out.startswith("added\t1")
    assert "In two files, of which the one further along counts: a." in told.err


def test_export_writes_all_and_counts_each_file(dibs: Run, tmp_path: Path) -> None:
    first = dibs("add", "code", "Build", "--priority", 20, "--tag", "web", ok=True).line
    dibs("add", "review", "--after", first, "--user", "ada", ok=True)
    root = tmp_path / "out"
    report = dibs("export", "--format", "loki", root, "--json", ok=True).json
    files = dict.fromkeys((f"{queue}.json" for queue in QUEUES), 0) | {"pending.json": 2}
    told = {"format": "loki", "dir": str(root), "tasks": 2, "files": files, "breakers": [], "breakers_off": []}
    assert report == told
    [code, review] = read(root)["pending"]
    assert (code["id"], code["priority"], review["dependencies"]) == (first, 8, [first])
    assert dibs("export", root, "--force", ok=True).out.splitlines()[0] == "pending.json\t2"
    assert dibs("export", tmp_path / "web", "--tag", "web", "--json", ok=True).json["tasks"] == 1


def test_export_of_no_store_is_five_empty_files(dibs: Run, tmp_path: Path) -> None:
    assert dibs("export", tmp_path / "out", "--json", ok=True).json["tasks"] == 0
    assert read(tmp_path / "out") == {queue: [] for queue in QUEUES}
    assert not (tmp_path / "work.db").exists()


def test_there_and_back_adds_nothing(dibs: Run, tmp_path: Path, snapshot: Callable[[], Any]) -> None:
    dibs("add", "code", "--payload", '{"n": 1}', "--key", "k", ok=True)
    dibs("add", "code", ok=True)
    before = snapshot()
    dibs("export", tmp_path / "out", ok=True)
    assert dibs("import", tmp_path / "out", "--json", ok=True).json["already"] == 2
    assert snapshot() == before


def test_export_refuses_what_is_there(dibs: Run, loki: Path) -> None:
    before = below(loki)
    refused = dibs("export", loki, "--json")
    assert (refused.code, refused.error["code"], refused.error["field"]) == (5, "conflict", "dir")
    assert "--force replaces all five" in refused.error["message"]
    assert below(loki) == before


def test_many_tasks_show_how_far_it_is(dibs: Run, terminal: Run, tmp_path: Path) -> None:
    graph = {"title": "many", "tasks": [{"type": "t"}] * 600}
    (tmp_path / "many.json").write_text(json.dumps(graph))
    dibs("dag", "submit", tmp_path / "many.json", ok=True)
    shown = terminal("export", tmp_path / "out")
    assert (shown.code, "read 600 tasks …" in shown.out) == (0, True)
    shown = terminal("import", tmp_path / "out", "--url", f"sqlite:{tmp_path / 'other.db'}")
    assert (shown.code, "added 600 tasks …" in shown.out) == (0, True)


@pytest.mark.parametrize("verb", ["export", "import"])
def test_a_held_lock_is_unavailable_and_nothing_happens(
    dibs: Run, loki: Path, verb: str, monkeypatch: pytest.MonkeyPatch, snapshot: Callable[[], Any]
) -> None:
    monkeypatch.setattr(locking, "WAIT_S", 0.2)
    before, files = snapshot(), below(loki)
    lock = loki / "state" / "locks" / "queue.lock"
    lock.parent.mkdir(parents=True)
    command = [sys.executable, "-m", "tests.loki.holder", str(lock)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        refused = dibs(verb, loki, "--json", *(["--force"] if verb == "export" else []))
        holder.kill()
    assert (refused.code, refused.error["code"], refused.out) == (6, "unavailable", "")
    assert f"{lock} has been held for 0.2 s by " in refused.error["message"]
    assert (snapshot(), below(loki)) == (before, files)


def bad(name: str, content: Any) -> Callable[[Path], object]:
    text = content if isinstance(content, str) else json.dumps(content)
    return lambda root: (root / name).write_text(text)


def a_folder_instead(root: Path) -> None:
    (root / "queue/completed.json").unlink()
    (root / "queue/completed.json").mkdir()


def pending(**fields: Any) -> Callable[[Path], object]:
    return bad("queue/pending.json", {"tasks": [task("fine"), task("bad", **fields)]})


@pytest.mark.parametrize(
    ("spoil", "code", "field", "words"),
    [
        (lambda root: root.rename(root.with_name("elsewhere")), 2, "dir", ["there is no folder"]),
        (lambda root: (root / "queue").rename(root / "other"), 2, "dir", ["none of Loki's files", "pending.json"]),
        (lambda root: (root / "queue/cancelled.json").unlink(), 2, "dir", ["cancelled.json is missing", "write {"]),
        (a_folder_instead, 2, "dir", ["completed.json cannot be read: Is a directory"]),
        (bad("queue/pending.json", '{"tasks": [\n  {"id": "a",, }]}'), 2, "dir", ["pending.json", "line 2, column 14"]),
        (bad("queue/completed.json", '{"tasks": ['), 2, "dir", ["completed.json", "line 1, column 12"]),
        (bad("queue/dead-letter.json", ""), 2, "dir", ["dead-letter.json", "line 1, column 1"]),
        (bad("queue/pending.json", "[" * 100_000), 2, "dir", ["nested too deeply"]),
        (bad("queue/pending.json", [task("a")]), 2, "tasks", ["pending.json must hold an object"]),
        (pending(priority="high"), 2, "priority", ["pending.json: task 'bad'", "'high'"]),
        (pending(type=7), 2, "type", ["task 'bad'"]),
        (pending(payload=[1]), 2, "payload", ["task 'bad'"]),
        (pending(payload={"a": "x\0y"}), 2, "payload", ["task 'bad'", "NUL"]),
        (pending(timeout=1e9), 2, "timeout", ["task 'bad'"]),
        (pending(type="x" * 201), 2, "type", ["task 'bad'"]),
        (pending(dibs={"boost": "x"}), 2, "boost", ["task 'bad'"]),
        (bad("queue/pending.json", {"tasks": [task("one", dibs={"id": ID}), task("bad", dibs={"id": ID})]}), 2, "dibs",
         ["task 'bad' has the dibs.id of task 'one'"]),
        (pending(dependencies=["nobody"]), 2, "dependencies", ["task 'bad' depends on 'nobody'"]),
        (pending(dependencies=["bad"]), 5, "dependencies", ["bad → bad"]),
        (bad("config/circuit-breakers.yaml", "defaults: [1"), 2, "dir", ["circuit-breakers.yaml"]),
        (bad("config/circuit-breakers.yaml", "defaults: {failureThreshold: five}"), 2, "failureThreshold",
         ["circuit-breakers.yaml", "defaults.failureThreshold"]),
        (bad("config/circuit-breakers.yaml", "overrides: {code: {failureThreshold: 0}}"), 2, "failure_threshold",
         ["circuit-breakers.yaml: code: failure_threshold"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dry", [False, True])
def test_a_bad_folder_is_refused_naming_what_is_wrong(
    dibs: Run,
    loki: Path,
    snapshot: Callable[[], Any],
    spoil: Callable[[Path], Any],
    code: int,
    field: str,
    words: list[str],
    dry: bool,
) -> None:
    spoil(loki)
    before = snapshot()
    refused = dibs("import", loki, "--json", *(["--dry-run"] if dry else []))
    assert (refused.code, refused.out) == (code, ""), refused.err
    assert refused.error["field"] == field
    for word in words:
        assert word in refused.error["message"]
    assert snapshot() == before


@pytest.mark.parametrize("verb", ["export", "import"])
def test_a_format_nobody_knows_is_refused(dibs: Run, loki: Path, verb: str) -> None:
    refused = dibs(verb, "--format", "trello", loki, "--json")
    assert (refused.code, refused.error["field"]) == (2, "format")
    assert dibs(verb, "--json").error["field"] == "dir"


@pytest.mark.parametrize("verb", ["import", "export"])
def test_no_folder_is_not_the_working_directory(
    dibs: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dibs("--json", verb, "").error["field"] == "dir"
    assert not [path.name for path in tmp_path.iterdir() if path.name in ("queue", "state")]


def test_a_folder_that_cannot_be_made_is_unavailable(dibs: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    refused = dibs("export", tmp_path / "file" / "below", "--json")
    assert (refused.code, refused.error["code"]) == (6, "unavailable")


def test_other_commands_do_not_pay_for_it(url: str) -> None:
    program = "import sys; from dibs.cli import main; main(['ls']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not [name for name in done.stdout.split() if name.startswith("dibs.loki")]
