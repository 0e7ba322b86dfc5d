"""Errors name what was typed: the options of a command, not the parameters behind them. Every command is walked."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from dibs.cli.catalogue import NESTED, module_of, names
from dibs.cli.naming import in_options, options_of
from dibs.cli.parsing import Command, listed, moment, number, whole
from dibs.cli.running import _load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Run

ALL = [name for name in names() if name not in NESTED]
ALL += [f"{first} {second}" for first, members in NESTED.items() for second, _ in members]

SENSIBLE = {
    "id": "TASK",
    "fence": "1",
    "type": "t",
    "types": "t",
    "agent": "ada",
    "scope": "type:t",
    "limit": "5",
    "amount": "1",
    "rate": "1/min",
    "slots": "2",
    "error": "broken",
    "question": "Which?",
    "value": "1",
    "data": "1",
    "text": "a line",
    "ladder": '[{"after": 1, "do": "notify"}]',
    "to": "grace",
    "after": "TASK",
    "priority": "5",
    "ids": "TASK",
    "file": "FILE",
    "dir": "FOLDER",
    "name": "report",
    "ref": "artifact:report",
    "app": "os:path",
}
"""What is given for the arguments that are not to blame."""
WRONG: dict[object, tuple[str, ...]] = {
    None: ("", "x" * 70_000, "a\x00b"),
    whole: ("-1", "9" * 30),
    number: ("-1", "nan"),
    moment: ("-1", "nan", "later"),
    listed: ("a,,b", "x" * 201),
}
"""What is wrong for most arguments of a kind. Where it is not, the command runs: no harm is done."""
HARMLESS = {"init": ["--dry-run"], "run": ["--drain"], "tail": ["--no-follow"]}
WORDS = {"dead_lettered", "fail_fast", "fail_dag", "put_artifact"}
"""Names that people know, whichever way they call dibs."""


def command_of(name: str) -> Command:
    module = module_of(name.partition(" ")[0])
    assert module is not None
    return _load(module, name)


def arguments_of(name: str) -> list[argparse.Action]:
    parser = argparse.ArgumentParser(add_help=False)
    command_of(name).arguments(parser)
    return [action for action in parser._actions if action.nargs != 0]


def lines(name: str, blamed: argparse.Action) -> Iterator[list[str]]:
    """Command lines in which only one argument is wrong."""
    for wrong in WRONG.get(blamed.type, ("", "-1")):
        line = [*name.split(), *HARMLESS.get(name, ())]
        for action in arguments_of(name):
            value = wrong if action is blamed or action.dest == blamed.dest else SENSIBLE.get(action.dest, "x")
            if action.option_strings and (action.required or action.dest == blamed.dest):
                line.append(f"{action.option_strings[-1]}={value}")
            elif not action.option_strings and (action.nargs not in ("?", "*") or action.dest == blamed.dest):
                line.append(value)
        yield [*line, "--", "true"] if command_of(name).program else line


@pytest.mark.parametrize("name", [name for name in ALL if arguments_of(name) and name not in ("demo", "up")])
def test_an_error_names_the_option_not_the_parameter(
    dibs: Run, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a folder that is a name, wrong or not, is made here
    (tmp_path / "file").write_text("title: x\ntasks: [{type: t}]\n")
    task = dibs("add", "t", ok=True).line
    places = {"TASK": task, "FILE": str(tmp_path / "file"), "FOLDER": str(tmp_path / "folder")}
    refused = 0
    for blamed in arguments_of(name):
        for line in lines(name, blamed):
            told = dibs(*(places.get(part.rpartition("=")[2], part) for part in line))
            if told.code not in (2, 4, 5):
                continue
            refused += 1
            said = re.sub(r"'[^']*'|\"[^\"]*\"", "", told.err)
            assert not python_names(said), (line, told.err)
            option = blamed.option_strings[-1] if blamed.option_strings else ""
            assert not option or not said.startswith(f"dibs: {blamed.dest} "), (line, told.err)
    assert refused


def python_names(said: str) -> set[str]:
    """Words such as `max_cost` in a message; ids are none."""
    found = set(re.findall(r"(?<![\w.])[a-z]+(?:_[a-z]+)+\b(?!\.)", said))
    return {word for word in found if word not in WORDS}


@pytest.mark.parametrize(
    ("line", "begins", "field"),
    [
        ("add t --window 5", "--window says nothing without --coalesce;", "coalesce_window"),
        ("add t --coalesce k --window 2h", "--window must be between", "coalesce_window"),
        ("add t --max-attempts 0", "--max-attempts must be", "max_attempts"),
        ("add t --tag=", "--tag must not be empty", "tags"),
        ("claim --agent a --can a,,b", "--can must not be empty", "capabilities"),
        ("claim --agent a --type=", "--type must not be empty", "types"),
        ("budget set type:x 5 --per week", "--per must be 'day'", "window"),
        ("budget set type:x 5 --tz UTC", "--tz says when a day ends: give --per, too.", "timezone"),
        ("budget set all 5", "SCOPE must be global", "scope"),
        ("budget set type:x -- -5", "AMOUNT must be a number", "limit"),
        ("artifact sweep --older-than 1s", "--older-than must be between", "older_than"),
        ("breaker set t --cooldown -1", "--cooldown must be between", "cooldown_s"),
        ("complete t --fence 1 --tokens-cached 1", "--tokens-cached is part of --tokens-in", "tokens_in"),
        ("ask t --fence 1 Which? --default 1", "--default is the answer after --timeout;", "timeout"),
        ("pause", "name one of --type, --lane and --agent, or say --everything.", "type"),
        ("pause --type a --agent b", "name one of --type, --lane and --agent, not --type and --agent.", "agent"),
        ("agents register a --max-concurrent 0", "--max-concurrent must be", "max_concurrent"),
        ("fail t --fence 1 --error e --retry-after later", "--retry-after must be", "retry_after"),
        ("checkpoint t --fence 1 {bad", "data is not JSON", "data"),
        ("run --type= -- true", "--type must not be empty", "type"),
        ("demo --pace 9", "--pace must be between", "pace"),
        ("cancel ''", "ID must not be empty", "id"),
        ("start '' --fence 1", "ID must not be empty", "task_id"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_it_is_told_as_it_is_typed_and_programs_get_the_parameter(
    dibs: Run, line: str, begins: str, field: str
) -> None:
    argv = shlex.split(line)
    told = dibs(*argv)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"dibs: {begins}")
    assert told.err.endswith(".\n"), "the parameter is not told once more"
    refused = dibs("--json", *argv)
    assert refused.error["message"].startswith(begins)
    assert refused.error["field"] == field


def test_what_a_file_says_is_not_taken_for_an_option(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "dag.yaml"
    file.write_text('title: x\ncreated_by: ""\ntasks: [{type: t}]\n')
    assert dibs("dag", "submit", file).err == "dibs: created_by must not be empty or blank.\n"
    told = dibs("dag", "submit", file, "--created-by", "").err
    assert told == "dibs: --created-by must not be empty or blank.\n"


def test_only_parameters_are_translated() -> None:
    options = {"max_cost": "--max-cost", "type": "--type", "dag": "--dag"}
    for said in (
        "There is no dag max_cost:1.",
        "type code is paused.",
        "name 'max_cost' is unknown; `dibs dag` lists what there is.",
        "task_max_cost is not an id.",
    ):
        assert in_options(said, options) == said
    assert in_options("type must be one; see max_cost, `dag`.", options) == "--type must be one; see --max-cost, --dag."


def test_switches_that_say_no_are_not_parameters() -> None:
    args = argparse.Namespace()
    assert "retry" not in options_of(command_of("fail"), args)
    assert options_of(command_of("add"), args)["retry"] == "--retry"
    assert options_of(command_of("pause"), args)["everything"] == "--everything"
