"""What a file may offer, and how it is told what is wrong with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dibs.a2a.card import card_of
from dibs.a2a.offer import offer_of, read_offer
from dibs.errors import Invalid
from tests.server.process import environment
from tests.servers import warm

if TYPE_CHECKING:
    from pathlib import Path

GOOD: dict[str, Any] = {
    "name": "desk",
    "description": "Finds things out.",
    "skills": {"research": {"description": "Looks into it."}},
}


def test_an_offer_says_what_it_must_and_the_rest_is_usual() -> None:
    offer = offer_of(GOOD)
    skill = offer.skills["research"]
    assert (offer.default, offer.version, offer.url) == ("research", "1", None)
    assert (skill.name, skill.text, skill.options) == ("research", "prompt", {})
    several = {**GOOD, "skills": {**GOOD["skills"], "code": {"description": "Writes it."}}}
    assert offer_of(several).default is None
    assert offer_of({**several, "default": "code"}).default == "code"


def test_the_card_names_where_clients_reach_the_server() -> None:
    offer = offer_of({**GOOD, "url": "https://queue.example.com/dibs/", "organization": "Example"})
    assert offer.url == "https://queue.example.com/dibs"
    card = card_of(offer, offer.url)
    assert card.supported_interfaces[0].url == "https://queue.example.com/dibs/a2a"
    assert card.provider.organization == "Example"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": None}, "name"),
        ({"name": 7}, "name"),
        ({"description": " "}, "description"),
        ({"skills": {}}, "skills"),
        ({"skills": ["research"]}, "skills"),
        ({"skills": {7: {"description": "x"}}}, "skills"),
        ({"skills": {"a": "words"}}, "skills.a"),
        ({"skills": {"a": {}}}, "skills.a.description"),
        ({"skills": {"a": {"description": "x", "tags": "one"}}}, "skills.a.tags"),
        ({"skills": {"a": {"description": "x", "examples": "one"}}}, "skills.a.examples"),
        ({"skills": {"a": {"description": "x", "options": {"priority": 1_000}}}}, "skills.a.options"),
        ({"skills": {"a": {"description": "x", "options": {"key": "mine"}}}}, "skills.a.options"),
        ({"skills": {f"t{n}": {"description": "x"} for n in range(101)}}, "skills"),
        ({"default": "other"}, "default"),
        ({"url": "queue.example.com"}, "url"),
        ({"url": "https://u:p@example.com"}, "url"),
        ({"skill": {}}, "a2a"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        offer_of({**GOOD, **change})
    assert refused.value.field == field


def test_a_slip_of_the_pen_is_told_what_was_meant() -> None:
    with pytest.raises(Invalid, match="did you mean skills"):
        offer_of({**GOOD, "skils": {}})


def test_a_file_must_be_there_and_be_yaml(tmp_path: Path) -> None:
    path = tmp_path / "a2a.yaml"
    with pytest.raises(Invalid, match="cannot be read"):
        read_offer(str(path))
    for wrong in ("[unclosed", "just words", "!!python/object/apply:os.system [ls]", "x" * (2 << 20)):
        path.write_text(wrong)
        with pytest.raises(Invalid):
            read_offer(str(path))
    path.write_text(json.dumps(GOOD))
    assert read_offer(str(path)).name == "desk"


def test_a_server_with_a_wrong_offer_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "a2a.yaml").write_text("name: nothing more\n")
    store = tmp_path / "work.db"
    command = ["up", "--url", f"sqlite:{store}", "--port", "0", "--a2a", "a2a.yaml", "--json"]
    done = warm.run(command, env=environment(tmp_path), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert json.loads(done.stderr)["field"] == "skills"
    assert not store.exists()
