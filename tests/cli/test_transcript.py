"""`dibs transcript` shows what an agent says while it works; parents hear of their children with claim and renew."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import dibs as library
from tests.cli.conftest import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def test_lines_are_printed_as_they_come_until_the_task_has_ended(dibs: Run, url: str) -> None:
    with library.connect_sync(url) as queue:
        task = queue.add("code")
        [claim] = queue.claim("a")
        queue.log(claim, "looks around")
        follower = subprocess.Popen([*COMMAND, "transcript", task.id, "--follow"], stdout=subprocess.PIPE, text=True)
        assert follower.stdout is not None
        assert follower.stdout.readline() == "looks around\n"
        queue.log(claim, "mends \x1b[31mit")
        assert follower.stdout.readline().startswith("mends ")
        queue.complete(claim)
        assert follower.wait(60) == 0
        follower.stdout.close()
    assert dibs("transcript", task.id, ok=True).out.count("\n") == 2
    assert dibs("transcript", task.id, "--json", ok=True).out.splitlines()[0] == '{"line":"looks around"}'


def test_the_whole_is_an_artifact_of_each_attempt(dibs: Run, url: str) -> None:
    with library.connect_sync(url) as queue:
        task = queue.add("code")
        for text in (b"first\n", b"second\n"):
            [claim] = queue.claim("a")
            queue.put_artifact(claim, f"transcript-{claim.fence}", text)
            queue.release(claim)
    assert dibs("transcript", task.id, "--raw", ok=True).out == "second\n"
    assert dibs("transcript", task.id, "--raw", "--fence", 1, ok=True).out == "first\n"
    assert dibs("transcript", task.id, "--raw", "--fence", 7, "--json").error["code"] == "not_found"
    for options, field in ((("--fence", "1"), "fence"), (("--raw", "--follow"), "follow")):
        answer = dibs("transcript", task.id, *options, "--json")
        assert (answer.code, answer.error["field"]) == (2, field)
    assert dibs("transcript", "task_nowhere").code == 4


def test_a_parent_hears_of_its_children_with_renew_and_with_its_next_claim(dibs: Run, url: str, tmp_path: Path) -> None:
    kids = tmp_path / "kids.yaml"
    kids.write_text("- {type: child, ref: one, title: The first}\n- {type: child, ref: two}\n")
    dibs("add", "parent", ok=True)
    parent = dibs("claim", "--agent", "p", "--type", "parent", ok=True).json["task"]["id"]
    dibs("spawn", parent, "--fence", 1, kids, ok=True)
    assert dibs("renew", parent, "--fence", 1, ok=True).out == ""
    one = dibs("claim", "--agent", "c", "--type", "child", ok=True).json["task"]["id"]
    dibs("complete", one, "--fence", 1, "--output", "7", ok=True)
    assert dibs("renew", parent, "--fence", 1, ok=True).out == f"ended\t{one}\tcompleted\tThe first\n"
    assert dibs("renew", parent, "--fence", 1, ok=True).out == ""
    assert "ended" not in dibs("renew", parent, "--fence", 1, "--json", ok=True).json
    dibs("release", parent, "--fence", 1, ok=True)
    two = dibs("claim", "--agent", "c", "--type", "child", ok=True).json["task"]["id"]
    dibs("fail", two, "--fence", 1, "--error", "no luck", "--no-retry", ok=True)
    again = dibs("claim", "--agent", "p", "--type", "parent", ok=True).json
    assert [(each["ref"], each["status"]) for each in again["ended"]] == [
        ("one", "completed"),
        ("two", "dead_lettered"),
    ]
    assert again["ended"][0]["output"] == 7
    assert dibs("renew", parent, "--fence", 2, ok=True).out == ""
