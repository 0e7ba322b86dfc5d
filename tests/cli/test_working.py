"""An agent made of shell commands: claim, renew, settle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def claimed(dibs: Run, *options: object) -> Any:
    """Add a task and claim it."""
    dibs("add", "t", *options, ok=True)
    return dibs("claim", "--agent", "a", ok=True).json


def test_claim_prints_one_claim(dibs: Run) -> None:
    id = dibs("add", "research", "--payload", '{"topic": "CORS"}', ok=True).line
    claim = dibs("claim", "--agent", "coder-1", ok=True).json
    assert claim["task"]["id"] == id
    assert claim["task"]["payload"] == {"topic": "CORS"}
    assert claim["task"]["status"] == "running"
    assert (claim["fence"], claim["inputs"], claim["agent"]) == (1, {}, "coder-1")


def test_an_empty_claim_is_exit_3_and_silent(dibs: Run) -> None:
    assert dibs("claim", "--agent", "a") == (3, "", "")
    assert dibs("claim", "--agent", "a", "--json", "--wait", "0.1s") == (3, "", "")


def test_claim_takes_what_the_agent_can_do(dibs: Run) -> None:
    dibs("add", "t", "--requires", "gpu", ok=True)
    assert dibs("claim", "--agent", "a").code == 3
    assert dibs("claim", "--agent", "a", "--can", "gpu,web", "--type", "other").code == 3
    assert dibs("claim", "--agent", "a", "--can", "gpu,web", "--type", "other", "--type", "t").code == 0


def test_complete_hands_the_output_to_the_dependent(dibs: Run) -> None:
    first = dibs("add", "t", ok=True).line
    second = dibs("add", "t", "--after", first, ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    done = dibs(
        *("complete", first, "--fence", 1, "--output", '{"n": 42}', "--cost", 0.5, "--json"),
        *("--tokens-in", 10, "--tokens-out", 5, "--decision", '"because"'),
        ok=True,
    ).json
    assert (done["status"], done["output"], done["decision"]) == ("completed", {"n": 42}, "because")
    assert (done["cost_usd"], done["tokens_in"], done["tokens_out"]) == (0.5, 10, 5)
    claim = dibs("claim", "--agent", "a", ok=True).json
    assert claim["task"]["id"] == second
    assert claim["inputs"] == {first: {"n": 42}}


def test_completing_twice_is_fine_and_otherwise_a_conflict(dibs: Run) -> None:
    id = claimed(dibs)["task"]["id"]
    assert dibs("complete", id, "--fence", 1, "--output", "1", ok=True).line == "completed"
    assert dibs("complete", id, "--fence", 1, "--output", "1", ok=True).line == "completed"
    other = dibs("complete", id, "--fence", 1, "--output", "2", "--json")
    assert (other.code, other.error["code"], other.out) == (5, "illegal_transition", "")
    stale = dibs("complete", id, "--fence", 7, "--json")
    assert (stale.code, stale.error["code"]) == (5, "lease_lost")


def test_fail_retries_until_it_is_told_not_to(dibs: Run) -> None:
    id = claimed(dibs, "--retry", "immediate")["task"]["id"]
    assert dibs("fail", id, "--fence", 1, "--error", "boom", ok=True).line == "ready"
    again = dibs("claim", "--agent", "a", ok=True).json
    assert [one["error"] for one in again["previous_attempts"]] == ["boom"]
    assert dibs("fail", id, "--fence", 2, "--error", "boom", "--retry-after", "5m", ok=True).line == "retrying"

    other = claimed(dibs)["task"]["id"]
    dead = dibs("fail", other, "--fence", 1, "--error", "no", "--no-retry", "--reason", "bad", "--json", ok=True).json
    assert (dead["status"], dead["error"], dead["reason"]) == ("dead_lettered", "no", "bad")


def test_release_gives_it_back_unharmed(dibs: Run) -> None:
    id = claimed(dibs)["task"]["id"]
    dibs("release", id, "--fence", 1, ok=True)
    claim = dibs("claim", "--agent", "b", ok=True).json
    assert (claim["task"]["id"], claim["fence"], claim["task"]["attempts"]) == (id, 2, 0)
    assert dibs("release", id, "--fence", 2, "--delay", "1h", "--json", ok=True).json["status"] == "retrying"


def test_renew_reports_progress_and_hears_of_a_cancel(dibs: Run) -> None:
    id = claimed(dibs)["task"]["id"]
    renewed = dibs("renew", id, "--fence", 1, "--progress", 0.5, "--note", "half", "--cost", 0.1, "--json", ok=True)
    assert renewed.json["cancel"] is False
    task = dibs("show", id, "--json", ok=True).json
    assert (task["progress"], task["note"]) == (0.5, "half")
    dibs("cancel", id, ok=True)
    assert dibs("renew", id, "--fence", 1, ok=True).line == "cancel"


def test_start_log_and_checkpoint(dibs: Run) -> None:
    dibs("add", "t", ok=True)
    claim = dibs("claim", "--agent", "a", "--no-start", ok=True).json
    id = claim["task"]["id"]
    assert claim["task"]["status"] == "claimed"
    assert dibs("start", id, "--fence", 1, "--json", ok=True).json["status"] == "running"
    assert dibs("log", id, "--fence", 1, "a line") == (0, "", "")
    assert dibs("checkpoint", id, "--fence", 1, '{"page": 7}') == (0, "", "")
    assert "a line" in dibs("show", id, ok=True).out
    dibs("release", id, "--fence", 1, ok=True)
    assert dibs("claim", "--agent", "a", ok=True).json["checkpoint"] == {"page": 7}


def test_spawn_adds_tasks_below_the_one_that_is_held(dibs: Run, tmp_path: Path) -> None:
    parent = claimed(dibs)["task"]["id"]
    file = tmp_path / "children.json"
    file.write_text('[{"type": "child", "payload": 1, "ref": "one"}, {"type": "child", "after": ["one"]}]')
    spawned = dibs("spawn", parent, "--fence", 1, file, "--wait", "--json", ok=True).json
    children = spawned["tasks"]
    assert spawned["suspended"] is True
    assert [child["parent_id"] for child in children] == [parent, parent]
    assert [child["status"] for child in children] == ["ready", "pending"]
    assert dibs("show", parent, "--json", ok=True).json["status"] == "pending"


def test_spawn_without_wait_prints_the_tasks_alone(dibs: Run, tmp_path: Path) -> None:
    parent = claimed(dibs)["task"]["id"]
    file = tmp_path / "children.json"
    file.write_text('[{"type": "child"}]')
    [child] = dibs("spawn", parent, "--fence", 1, file, "--json", ok=True).json
    assert dibs("spawn", parent, "--fence", 1, file, ok=True) == (0, f"{child['id']}\n", "")


def test_spawn_says_when_there_is_nothing_left_to_wait_for(dibs: Run, tmp_path: Path) -> None:
    parent = claimed(dibs)["task"]["id"]
    file = tmp_path / "children.json"
    file.write_text('[{"type": "child"}]')
    waits = ("spawn", parent, "--fence", 1, file, "--wait")
    [child] = dibs("spawn", parent, "--fence", 1, file, "--json", ok=True).json
    dibs("cancel", child["id"], ok=True)
    spawned = dibs(*waits, "--json", ok=True)
    assert (spawned.json["suspended"], spawned.json["tasks"][0]["id"]) == (False, child["id"])
    again = dibs(*waits, ok=True)
    assert again.line == child["id"]
    assert again.err == f"all of them have ended; you still hold {parent}\n"
    assert dibs("show", parent, "--json", ok=True).json["status"] == "running"


def test_spawn_says_nothing_more_when_the_claim_has_ended(dibs: Run, tmp_path: Path) -> None:
    parent = claimed(dibs)["task"]["id"]
    file = tmp_path / "children.json"
    file.write_text('[{"type": "child"}]')
    spawned = dibs("spawn", parent, "--fence", 1, file, "--wait", ok=True)
    assert (len(spawned.out.splitlines()), spawned.err) == (1, "")


def test_spawn_reads_yaml_from_standard_input(dibs: Run, shell: Run) -> None:
    parent = claimed(dibs)["task"]["id"]
    spawned = shell("spawn", parent, "--fence", 1, "-", stdin=b"- {type: child, title: one}\n- type: child\n")
    assert spawned.code == 0, spawned.err
    assert len(spawned.out.splitlines()) == 2


@pytest.mark.parametrize(
    ("content", "output"),
    [
        (b'{"text": "a\x00b"}', {"text": "a\ufffdb"}),
        (b'{"text": "a\\u0000b"}', {"text": "a\ufffdb"}),
        (b'{"text": "a\\ud800b"}', {"text": "a\ufffdb"}),
        (b'{"text": "a\xffb"}', {"text": "a\ufffdb"}),
        (b"a\xffb", "a\ufffdb"),
        (b"plain \x00 text", "plain \ufffd text"),
        (b"[NaN]", [None]),
    ],
)
def test_broken_output_still_ends_the_task(dibs: Run, shell: Run, content: bytes, output: Any) -> None:
    id = claimed(dibs)["task"]["id"]
    done = shell("complete", id, "--fence", 1, "--output", "-", "--json", stdin=content)
    assert done.code == 0, done.err
    assert (done.json["status"], done.json["output"]) == ("completed", output)
    assert done.json["output_sanitized"] is True


def test_broken_bytes_on_the_command_line_still_end_the_task(dibs: Run, shell: Run) -> None:
    id = claimed(dibs)["task"]["id"]
    done = shell("complete", id, "--fence", 1, "--output", "a\udcffb", "--json")
    assert (done.code, done.json["output"]) == (0, "a\ufffdb")


def test_plain_text_in_a_file_is_output_but_a_slip_of_quoting_is_not(dibs: Run, tmp_path: Path) -> None:
    id = claimed(dibs)["task"]["id"]
    slip = dibs("complete", id, "--fence", 1, "--output", "{answer: 42}", "--json")
    assert (slip.code, slip.error["field"]) == (2, "output")
    assert "Quote it" in slip.error["message"]
    file = tmp_path / "notes.md"
    file.write_text("# Notes\nall good\n")
    done = dibs("complete", id, "--fence", 1, "--output", f"@{file}", "--json", ok=True).json
    assert (done["output"], done["output_sanitized"]) == ("# Notes\nall good\n", False)
