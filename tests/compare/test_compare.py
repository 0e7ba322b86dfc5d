"""Two versions are told apart by what users see, and by nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.compare.differences import Run, compare, read_expected, split, told
from tests.compare.masks import Masks
from tests.compare.perform import perform
from tests.compare.processes import Server, apart, command
from tests.compare.program import ABSENT, Note, Program, Scene, play
from tests.compare.programs import COUNT, PROGRAMS, chosen

if TYPE_CHECKING:
    from pathlib import Path

NOBODY = Server("", "")


def run(**seen: Any) -> Run:
    return {("python", "made up", "memory"): list(seen.items())}


def test_there_are_three_hundred_programs_and_no_two_have_one_name() -> None:
    assert len(PROGRAMS) == COUNT == 300
    assert len({(program.kind, program.name) for program in PROGRAMS}) == COUNT
    assert {program.kind for program in PROGRAMS} >= {"python", "http", "shell", "help", "mcp", "worker", "run", "loki"}


def test_what_is_the_same_is_no_difference() -> None:
    assert compare(run(add={"id": 1}), run(add={"id": 1})).differences == []


def test_a_step_that_went_another_way_is_shown_with_what_is_around_it() -> None:
    found = compare(run(add={"status": "ready", "title": None}), run(add={"status": "claimed", "title": None}))
    [line] = [line for line in told(found.differences) if '+  "status"' in line]
    assert line.strip() == '+  "status": "claimed",'
    [difference] = found.differences
    assert difference.changed == ('-  "status": "ready",', '+  "status": "claimed",')


def test_a_verb_that_one_version_lacks_is_listed_and_not_compared() -> None:
    found = compare(run(**{"1 add": 1, "2 remember": ABSENT}), run(**{"1 add": 1, "2 remember": {"id": 7}}))
    assert (found.differences, dict(found.only_now)) == ([], {"python: remember": 1})
    found = compare(run(**{"1 forget": 1}), run())
    assert (found.differences, dict(found.only_before)) == ([], {"python: forget": 1})


def test_a_program_that_broke_in_one_version_differs() -> None:
    found = compare(run(ended="well"), run(ended="in claim: TypeError: no"))
    assert [difference.step for difference in found.differences] == ["ended"]


def test_one_change_in_many_programs_is_told_once() -> None:
    before: Run = {("python", f"walk {n}", "memory"): [("1 add", "ready")] for n in range(9)}
    now: Run = {("python", f"walk {n}", "memory"): [("1 add", "claimed")] for n in range(9)}
    lines = list(told(compare(before, now).differences))
    assert sum("+claimed" in line for line in lines) == 1
    assert "9 times in all" in "\n".join(lines)
    assert lines[-1].strip() == "8 more programs differ in ways that are shown above"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://127.0.0.1:3427/v1", "http://localhost:41011/v1"),
        ('"f1edc8245cf5915e43"', '"a1edc8245cf5915e44"'),
        ("/tmp/dibs-compare-abc/there/x.json", "/dev/shm/y/dibs-compare-def/there/x.json"),
        ("dibs 0.1.0", "dibs 0.2.0.dev1"),
        ("task_01m7t6ya3ndw4pcyh2hsz76rnj is ready", "task_01m7t6ya3ndw4pcyh2hsz76rnk is ready"),
        ("at 2026-11-19T16:00:00Z", "at 2026-11-20T17:01:02.5Z"),
        ("after 3.2 s", "after 0.4 s"),
        ("u\t1\t0.017362", "u\t1\t0.111936"),
    ],
)
def test_what_differs_from_run_to_run_is_masked(one: str, other: str) -> None:
    assert one != other
    assert Masks()(one) == Masks()(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            ["task_01m7t6ya3ndw4pcyh2hsz76rnj"] * 2,
            ["task_01m7t6ya3ndw4pcyh2hsz76rnj", "task_01m7t6ya3ndw4pcyh2hsz76rnk"],
        ),
        ({"lease_s": 60.0}, {"lease_s": 30.0}),
        ({"completed_at": None}, {"completed_at": "2026-11-19T16:00:00Z"}),
        ("it waits 60s", "it waits 90s"),
    ],
)
def test_what_a_version_decides_is_not_masked(one: Any, other: Any) -> None:
    assert Masks()(one) != Masks()(other)


def test_numbers_that_count_for_all_projects_are_masked_on_a_shared_store() -> None:
    one, other = {"lanes": [{"id": 103, "type": "a"}]}, {"lanes": [{"id": 104, "type": "a"}]}
    assert Masks(shared=True)(one) == Masks(shared=True)(other)
    assert Masks()(one) != Masks()(other)


def test_a_walk_compares_its_instants() -> None:
    one, other = {"retry_at": "2001-01-01T00:00:05Z"}, {"retry_at": "2001-01-01T00:00:10Z"}
    assert Masks(exact=True)(one) != Masks(exact=True)(other)


def test_what_is_expected_needs_its_line_of_the_changelog(tmp_path: Path) -> None:
    file = tmp_path / "expected"
    file.write_text('"status": "(ready|claimed)"  # A claim says so at once.\n')
    changelog = "- A claim says so at once."
    [expected] = read_expected(file, changelog)
    found = compare(run(add={"status": "ready"}, get="a"), run(add={"status": "claimed"}, get="b")).differences
    rest, met = split(found, [expected])
    assert [difference.step for difference in rest] == ["get"]
    assert list(met.values()) == [1]
    assert list(split([], [expected])[1].values()) == [0]
    for content, words in (
        ("no reason\n", "CHANGELOG.md"),
        ("x  # Another line.\n", "Another line"),
        ("(  # A claim", "no pattern"),
    ):
        file.write_text(content)
        with pytest.raises(SystemExit, match=words):
            read_expected(file, changelog)


def test_a_program_says_where_it_broke(tmp_path: Path) -> None:
    def breaks(scene: Scene) -> None:
        scene.note("before", 1)
        raise ValueError("no")

    scene = Scene("memory", "memory:", tmp_path, 0)
    assert play(Program("python", "breaks", breaks), scene) == [("before", 1), ("ended", "in breaks: ValueError: no")]


def test_a_program_runs_in_a_process_and_a_folder_of_its_own() -> None:
    def runs(scene: Scene) -> None:
        scene.note("add", command(scene, "add", "code").code)
        scene.note("ls", len(command(scene, "ls", "--json").seen["out"][0]["items"]))  # type: ignore[index]
        scene.note("none", command(scene, "claim", "--agent", "a", "--type", "other").code)
        scene.note("apart", apart(scene, "show", "task_00000000000000000000000000").code)

    notes = perform(Program("shell", "runs", runs), "sqlite", "sqlite:FOLDER/dibs.db", NOBODY)
    assert notes == [Note(*each) for each in (("add", 0), ("ls", 1), ("none", 3), ("apart", 4), ("ended", "well"))]


def test_two_runs_of_one_version_see_the_same() -> None:
    walk = next(program for program in chosen("memory", "python walk 0"))
    one, other = (perform(walk, "memory", "memory:compared", NOBODY) for _ in range(2))
    assert len(one) > 30
    key = ("python", walk.name, "memory")
    assert compare({key: [*one]}, {key: [*other]}).differences == []
