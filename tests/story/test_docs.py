"""The pages below docs/ are true: sessions and programs run, links lead somewhere, no command is left out."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from importlib import import_module
from typing import TYPE_CHECKING

import pytest
import yaml

from dibs.a2a.offer import offer_of
from dibs.cli.catalogue import NESTED, module_of, names
from tests.story.blocks import ROOT, blocks, check_session

if TYPE_CHECKING:
    from pathlib import Path

    from tests.story.shell import Shell

DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", *DOCS.rglob("*.md")])


# More than a hundred processes, one after the other; each has a limit of its own.
@pytest.mark.timeout(600)
def test_the_session_of_the_shell_page_runs_and_prints_what_is_shown(shell: Shell) -> None:
    check_session(DOCS / "shell.md", shell)


def test_every_command_has_an_example_on_the_shell_page() -> None:
    page = (DOCS / "shell.md").read_text()
    commands = [name for name in names() if name not in NESTED]
    commands += [f"{name} {second}" for name, inner in NESTED.items() for second, _ in inner]
    missing = [name for name in commands if not re.search(rf"\bdibs {name}\b", page)]
    assert missing == []


def test_the_program_of_the_page_on_judges_runs(shell: Shell) -> None:
    [program] = blocks(DOCS / "judges.md", "python")
    (shell.folder / "judges.py").write_text(program)
    assert shell.run("python judges.py").stdout.endswith("tea for me\n")


def test_the_program_of_the_page_on_frameworks_runs(shell: Shell) -> None:
    [program] = blocks(DOCS / "frameworks.md", "python")
    (shell.folder / "frameworks.py").write_text(program)
    assert shell.run("python frameworks.py").stdout == "Acme sells anvils. 2 model calls\n"


def test_the_offer_of_the_page_on_a2a_is_one() -> None:
    [written] = blocks(DOCS / "a2a.md", "yaml")
    offer = offer_of(yaml.safe_load(written))
    assert (offer.default, offer.skills["research"].text) == ("research", "topic")


def test_the_programs_of_the_handler_page_run(shell: Shell) -> None:
    programs = blocks(DOCS / "handlers.md", "python")
    assert len(programs) >= 2
    for number, program in enumerate(programs):
        (shell.folder / f"handlers_{number}.py").write_text(program)
        shell.run(f"python handlers_{number}.py")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_have_the_options_that_pages_name(page: Path) -> None:
    for words in re.findall(r"\bdibs ([a-z-]+(?: [^`\n|;)#]*)?)", page.read_text()):
        first, *rest = words.split()
        if module_of(first) is None:
            continue
        if first in NESTED and (not rest or rest[0] not in dict(NESTED[first])):
            continue
        name = f"{first} {rest[0]}" if first in NESTED else first
        module = import_module(f"dibs.cli.commands.{module_of(first)}")
        parser = ArgumentParser(add_help=False)
        module.COMMANDS[name].arguments(parser)
        known = {option for action in parser._actions for option in action.option_strings}
        ours = rest[: rest.index("--")] if "--" in rest else rest
        named = {word for word in ours if re.fullmatch("--[a-z-]+", word)}
        assert named <= known | {"--url", "--json", "--help"}, f"dibs {words}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
