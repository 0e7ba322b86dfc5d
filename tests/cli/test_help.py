"""Help: the overview, and a page with an example for each command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.cli.catalogue import GROUPS, NESTED, names

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ALL = [name for name in names() if name not in NESTED]
ALL += [f"{first} {second}" for first, members in NESTED.items() for second, _ in members]


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"], ["help"]], ids=str)
def test_the_overview_names_every_command(dibs: Run, argv: list[str]) -> None:
    shown = dibs(*argv, ok=True).out
    for title, commands in GROUPS:
        assert title in shown
        for name, _, summary in commands:
            assert f"  {name} " in shown
            assert summary in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("name", ALL)
def test_every_command_explains_itself_with_an_example(dibs: Run, name: str) -> None:
    shown = dibs(*name.split(), "--help", ok=True).out
    assert f"usage: dibs {name}" in shown
    assert "--url URL" in shown
    assert "--json" in shown
    example = shown.partition("example:\n")[2]
    assert f"dibs {name}" in example
    assert dibs("help", *name.split(), ok=True).out == shown


def test_families_of_commands_list_their_members(dibs: Run) -> None:
    for name, members in NESTED.items():
        shown = dibs(name, "--help", ok=True).out
        for second, summary in members:
            assert f"dibs {name} {second}" in shown
            assert summary in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["clam"], "did you mean `dibs claim`?"),
        (["dag", "sumbit"], "did you mean `dibs dag submit`?"),
        (["dlq", "frobnicate"], "`dibs dlq` lists what there is."),
        (["frobnicate"], "`dibs` lists what there is."),
        (["add", "t", "--prio", "3"], "there is no option --prio (did you mean --priority?); try `dibs add --help`"),
        (["add", "t", "--priorty=3"], "(did you mean --priority?)"),
        (["add", "t", "--frobnicate"], "there is no option --frobnicate; try `dibs add --help`"),
        (["run", "--type", "t", "echo", "hello"], "stands after --: dibs run … -- echo …"),
        (["add"], "TYPE is missing; try `dibs add --help`"),
        (["complete"], "ID and --fence are missing"),
        (["show", "task_x"], "`dibs ls` shows the ones there are."),
        (["retry", "task_x"], "`dibs ls` shows the ones there are."),
        (["tree", "dag_x"], "`dibs show TASK` names its dag."),
    ],
    ids=str,
)
def test_a_mistake_gets_a_hint(dibs: Run, argv: list[str], hint: str) -> None:
    assert hint in dibs(*argv).err


def test_version(dibs: Run) -> None:
    assert dibs("--version", ok=True).line.startswith("dibs ")
