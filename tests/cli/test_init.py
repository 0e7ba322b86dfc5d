"""`dibs init` makes a project ready for agents, and `--remove` undoes exactly that."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from typing import TYPE_CHECKING

import pytest

from dibs.cli import skill
from dibs.priming import IN_A_SHELL, OVER_MCP, primer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Run

FILES = [
    ".agents/skills/dibs/SKILL.md",
    ".claude/skills/dibs/SKILL.md",
    ".codex/config.toml",
    ".cursor/mcp.json",
    ".dibs/.gitignore",
    ".dibs/dibs.db",
    ".dibs/init.json",
    ".mcp.json",
    ".vscode/mcp.json",
    "AGENTS.md",
]


@pytest.fixture
def project(tmp_path: Path, dibs: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DIBS_URL")
    yield folder
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755)


def everything(folder: Path) -> dict[str, bytes | str]:
    """Every file and link, and every folder, with what it holds."""
    found: dict[str, bytes | str] = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            relative = os.path.relpath(path, folder)
            if ".git/" in relative or relative == ".git" or relative.startswith(".dibs/dibs.db-"):
                continue
            if os.path.islink(path):
                found[relative] = f"-> {os.readlink(path)}"
            elif os.path.isdir(path):
                found[relative] = "folder"
            else:
                with open(path, "rb") as file:
                    found[relative] = file.read()
    return found


def test_an_empty_folder_without_git_gets_all_and_is_empty_again(project: Path, dibs: Run) -> None:
    answer = dibs("init", "--json", ok=True).json
    assert answer["folder"] == str(project)
    assert {file["change"] for file in answer["files"]} == {"created"}
    written = everything(project)
    assert sorted(path for path, held in written.items() if held != "folder") == FILES
    assert dibs("init", "--json", ok=True).json["files"][0]["change"] == "unchanged"
    assert everything(project) == written

    for path in (".mcp.json", ".cursor/mcp.json"):
        assert json.loads((project / path).read_text()) == {
            "mcpServers": {"dibs": {"command": "dibs", "args": ["mcp"]}}
        }
    server = json.loads((project / ".vscode/mcp.json").read_text())["servers"]["dibs"]
    assert server == {"type": "stdio", "command": "dibs", "args": ["mcp"]}
    config = tomllib.loads((project / ".codex/config.toml").read_text())
    assert config == {"mcp_servers": {"dibs": {"command": "dibs", "args": ["mcp"]}}}

    dibs("init", "--remove", ok=True)
    assert list(project.iterdir()) == []
    assert "nothing of dibs" in dibs("init", "--remove", ok=True).out


def test_what_others_wrote_stays_to_the_last_byte(project: Path, dibs: Run) -> None:
    theirs = {
        "AGENTS.md": b"# Rules\r\n\r\nBe kind.\r\n",
        ".mcp.json": b'{\n\t"mcpServers": {"other": {"command": "x"}}\n}',
        ".codex/config.toml": b'model = "gpt-5"  # ours\n\n[mcp_servers.other]\ncommand = "x"\n',
        ".cursor/mcp.json": b'{"mcpServers": {}}\n',
        ".vscode/mcp.json": b'// our servers\n{\n    "servers": {\n        "a": {"type": "stdio",},\n    },\n}\n',
    }
    for path, content in theirs.items():
        (project / path).parent.mkdir(exist_ok=True)
        (project / path).write_bytes(content)
    before = everything(project)
    dibs("init", ok=True)
    agents = (project / "AGENTS.md").read_bytes()
    assert agents.startswith(theirs["AGENTS.md"])
    assert b"\n" not in agents.replace(b"\r\n", b"")
    assert json.loads((project / ".mcp.json").read_text())["mcpServers"].keys() == {"dibs", "other"}
    config = tomllib.loads((project / ".codex/config.toml").read_text())
    assert (config["model"], sorted(config["mcp_servers"])) == ("gpt-5", ["dibs", "other"])
    once = everything(project)
    dibs("init", ok=True)
    assert everything(project) == once
    dibs("init", "--remove", ok=True)
    assert everything(project) == before


def test_what_was_written_since_stays_when_ours_is_removed(project: Path, dibs: Run) -> None:
    dibs("init", ok=True)
    with open(project / "AGENTS.md", "a") as file:
        file.write("Be kind.\n")
    servers = json.loads((project / ".mcp.json").read_text())
    servers["mcpServers"]["other"] = {"command": "x"}
    (project / ".mcp.json").write_text(json.dumps(servers))
    (project / ".claude/skills/dibs/SKILL.md").write_text("mine now")
    (project / ".cursor/mcp.json").write_text('{"mcpServers": {"dibs": {"url": "http://elsewhere/mcp"}}}')
    changes = {file["path"]: file["change"] for file in dibs("init", "--remove", "--json", ok=True).json["files"]}
    assert changes["AGENTS.md"] == changes[".mcp.json"] == "changed"
    assert changes[".claude/skills/dibs/SKILL.md"] == changes[".cursor/mcp.json"] == "kept"
    assert (project / "AGENTS.md").read_text() == "Be kind.\n"
    assert json.loads((project / ".mcp.json").read_text()) == {"mcpServers": {"other": {"command": "x"}}}
    assert not (project / ".codex").exists()


def test_it_can_be_undone_without_the_record(project: Path, dibs: Run) -> None:
    (project / "AGENTS.md").write_text("# Rules\n")
    dibs("init", ok=True)
    (project / ".dibs/init.json").unlink()
    (project / ".dibs/dibs.db").unlink()
    dibs("init", "--remove", ok=True)
    left = {path: held for path, held in everything(project).items() if held != "folder"}
    assert left == {"AGENTS.md": b"# Rules\n"}


@pytest.mark.parametrize(("link", "target"), [("CLAUDE.md", "AGENTS.md"), ("AGENTS.md", "CLAUDE.md")])
def test_symbolic_links_stay_links(project: Path, dibs: Run, link: str, target: str) -> None:
    (project / target).write_text("# Rules\n")
    (project / link).symlink_to(target)
    before = everything(project)
    dibs("init", ok=True)
    dibs("init", ok=True)
    assert (project / link).is_symlink()
    assert not (project / target).is_symlink()
    assert (project / link).read_text().count("dibs:begin") == 1
    dibs("init", "--remove", ok=True)
    assert everything(project) == before


def refused(dibs: Run, project: Path, path: str, said: str, *options: str) -> None:
    before = everything(project)
    answer = dibs("init", *options, "--json")
    assert answer.code == 2, answer
    assert answer.error["field"] == path
    assert said in answer.error["message"]
    assert everything(project) == before


def test_what_is_in_the_way_is_named_and_nothing_changes(project: Path, dibs: Run) -> None:
    agents = project / "AGENTS.md"
    agents.write_text("# Rules\n")
    agents.chmod(0o444)
    refused(dibs, project, "AGENTS.md", "read-only")
    agents.chmod(0o644)
    agents.write_bytes(b"\xff\xfe")
    refused(dibs, project, "AGENTS.md", "UTF-8")
    agents.unlink()
    agents.mkdir()
    refused(dibs, project, "AGENTS.md", "folder")
    agents.rmdir()
    agents.symlink_to("nowhere.md")
    refused(dibs, project, "AGENTS.md", "link to nothing")
    agents.unlink()
    outside = project.parent / "outside.md"
    outside.write_text("not yours")
    agents.symlink_to(outside)
    refused(dibs, project, "AGENTS.md", "out of this folder")
    agents.unlink()
    (project / ".mcp.json").write_text("{broken")
    refused(dibs, project, ".mcp.json", "not JSON")
    (project / ".mcp.json").write_text('{"mcpServers": []}')
    refused(dibs, project, ".mcp.json", "not JSON")
    (project / ".mcp.json").unlink()
    (project / ".codex").mkdir()
    (project / ".codex/config.toml").write_text("a = ")
    refused(dibs, project, ".codex/config.toml", "not TOML")
    (project / ".codex/config.toml").write_text("mcp_servers = {}\n")
    refused(dibs, project, ".codex/config.toml", "nothing can be added")
    (project / ".codex/config.toml").unlink()
    (project / ".cursor").mkdir(mode=0o555)
    refused(dibs, project, ".cursor/mcp.json", "read-only")
    (project / ".cursor").chmod(0o755)
    (project / ".dibs").mkdir(mode=0o555)
    refused(dibs, project, ".dibs/init.json", "read-only")
    (project / ".dibs").chmod(0o755)
    dibs("init", ok=True)
    (project / ".dibs/dibs.db").unlink()
    (project / ".dibs").chmod(0o555)
    refused(dibs, project, ".dibs/dibs.db", "read-only")
    refused(dibs, project, ".dibs/init.json", "read-only", "--remove")
    (project / ".dibs").chmod(0o755)
    assert outside.read_text() == "not yours"


def test_a_read_only_file_is_not_undone_either(project: Path, dibs: Run) -> None:
    dibs("init", ok=True)
    (project / "AGENTS.md").chmod(0o444)
    refused(dibs, project, "AGENTS.md", "read-only", "--remove")


def test_a_server_of_that_name_is_left_as_it_is(project: Path, dibs: Run) -> None:
    theirs = '{"mcpServers": {"dibs": {"url": "https://dibs.example.org/mcp"}}}'
    (project / ".mcp.json").write_text(theirs)
    (project / ".codex").mkdir()
    (project / ".codex/config.toml").write_text('[mcp_servers.dibs]\nurl = "https://dibs.example.org/mcp"\n')
    dibs("init", ok=True)
    assert (project / ".mcp.json").read_text() == theirs
    dibs("init", "--remove", ok=True)
    assert (project / ".mcp.json").read_text() == theirs
    assert "example.org" in (project / ".codex/config.toml").read_text()


def test_it_is_done_at_the_top_of_the_repository_and_git_sees_no_store(project: Path, dibs: Run) -> None:
    subprocess.run(["git", "init", "--quiet"], check=True)
    (project / "deep" / "down").mkdir(parents=True)
    os.chdir(project / "deep" / "down")
    dibs("init", ok=True)
    assert (project / "AGENTS.md").exists()
    seen = subprocess.run(["git", "status", "--porcelain"], cwd=project, capture_output=True, text=True, check=True)
    assert ".dibs" not in seen.stdout
    # From anywhere below, it is this store that is used.
    dibs("add", "code", "Write it", ok=True)
    assert not (project / "deep" / "down" / ".dibs").exists()
    changes = {file["path"]: file["change"] for file in dibs("init", "--remove", "--json", ok=True).json["files"]}
    assert changes[".dibs/dibs.db"] == "kept"
    assert dibs("ls", "--json", ok=True).json["items"][0]["title"] == "Write it"


def test_a_dry_run_says_that_it_is_one(project: Path, dibs: Run, terminal: Run) -> None:
    said = dibs("init", "--dry-run", ok=True)
    assert "created\tAGENTS.md" in said.out
    assert said.err == "Nothing was changed: this is what would be.\n"
    assert dibs("init", ok=True).err == ""
    assert "Next: dibs add" in terminal("init").out


def test_a_dry_run_says_all_and_does_nothing(project: Path, dibs: Run) -> None:
    answer = dibs("init", "--dry-run", "--json", ok=True).json
    assert everything(project) == {}
    assert [file["path"] for file in answer["files"] if "dibs:begin" in (file["text"] or "")] == [
        "AGENTS.md",
        ".codex/config.toml",
    ]
    for folder in ("nowhere", "", "a\0b"):
        assert dibs("init", folder, "--json").error["field"] == "folder"
    assert everything(project) == {}


def test_the_words_for_agents_are_few(dibs: Run) -> None:
    assert dibs("prime", ok=True).out == primer(IN_A_SHELL)
    assert dibs("prime", "--mcp", ok=True).out == primer(OVER_MCP)
    assert dibs("prime", "--json", ok=True).json == {"text": primer(IN_A_SHELL)}
    for text in (primer(IN_A_SHELL), primer(OVER_MCP)):
        # English has about four characters a token; commands and quotes have fewer.
        assert len(text) / 3.9 < 400 * 1.15, len(text)
        assert len(text.split()) < 300
    lines = skill.skill().splitlines()
    assert len(lines) <= 100
    assert lines[0] == "---"
    assert lines[1] == "name: dibs"
