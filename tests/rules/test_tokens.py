"""How a token's secret is written, until when it is good, and which one is meant."""

from __future__ import annotations

import os
from typing import Any

import pytest

from dibs.errors import Invalid, NotFound
from dibs.model.instants import from_micros
from dibs.model.role import Role
from dibs.rules import tokens
from dibs.rules.tokens import Kept

NOW = 1_800_000_000_000_000
DAY = 86_400_000_000


def kept(**values: Any) -> Kept:
    return Kept(**{"id": "tok_1", "name": "coder", "role": Role.AGENT, "created_at": NOW, **values})


@pytest.mark.parametrize("random", [bytes(32), b"\xff" * 32, os.urandom(32)])
def test_a_secret_has_256_bits_and_a_checksum(random: bytes) -> None:
    secret = tokens.secret_of(random)
    assert secret.startswith("dibs_")
    assert len(secret) == len("dibs_") + 43 + 6
    assert tokens.is_secret(secret)
    assert len(tokens.digest_of(secret)) == 64


def test_no_two_secrets_are_alike() -> None:
    assert len({tokens.secret_of(os.urandom(32)) for _ in range(1000)}) == 1000


def test_a_slip_of_the_finger_is_told_from_a_secret() -> None:
    secret = tokens.secret_of(os.urandom(32))
    for place in range(len(secret)):
        other = "0" if secret[place] != "0" else "1"
        assert not tokens.is_secret(secret[:place] + other + secret[place + 1 :])
    swapped = secret[:10] + secret[11] + secret[10] + secret[12:]
    assert swapped == secret or not tokens.is_secret(swapped)


@pytest.mark.parametrize("text", ["", "dibs_", "dibs_" + "0" * 49, "Bearer x", "dibs_" + "é" * 49, "dibs_" + "0" * 50])
def test_anything_else_is_no_secret(text: str) -> None:
    assert not tokens.is_secret(text)


def test_a_token_is_live_until_the_first_of_its_ends() -> None:
    assert kept().is_live(NOW + 10**18)
    assert kept(expires_at=NOW + 5).is_live(NOW + 4)
    assert not kept(expires_at=NOW + 5).is_live(NOW + 5)
    assert not kept(expires_at=NOW + 5, revoked_at=NOW + 2).is_live(NOW + 2)
    assert kept(expires_at=NOW + 5, revoked_at=NOW + 2).ends_at == NOW + 2


def test_a_token_is_shown_without_anything_secret() -> None:
    token = kept(expires_at=NOW + DAY, types=("code",), max_cost=2.0, created_by="ada").shown(NOW + 7)
    assert (token.id, token.role, token.types, token.created_by) == ("tok_1", "agent", ("code",), "ada")
    assert (token.expires_at, token.last_used_at) == (from_micros(NOW + DAY), from_micros(NOW + 7))
    assert token.revoked_at is None
    assert kept(revoked_at=NOW).shown().revoked_at == from_micros(NOW)


def test_a_token_that_ended_long_ago_is_forgotten() -> None:
    assert not tokens.is_forgotten(kept(), NOW + 10**18)
    assert not tokens.is_forgotten(kept(revoked_at=NOW), NOW + 90 * DAY)
    assert tokens.is_forgotten(kept(revoked_at=NOW), NOW + 90 * DAY + 1)


def test_what_is_asked_for_is_checked_and_kept() -> None:
    token = tokens.wanted(
        "tok_1",
        "coder",
        "agent",
        NOW,
        project="p",
        types=["test", "code"],
        expires="30d",
        max_depth=2,
        max_children=5,
        max_cost=1,
        by="ada",
    )
    assert (token.types, token.expires_at) == (("code", "test"), NOW + 30 * DAY)
    assert (token.max_depth, token.max_children, token.max_cost, token.created_by) == (2, 5, 1.0, "ada")
    assert tokens.wanted("tok_2", "local host:1", Role.ADMIN, NOW, project="p").expires_at is None


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "n" * 201}),
        ("role", {"role": "root"}),
        ("role", {"role": None}),
        ("name", {"name": "coder:host"}),
        ("project", {"project": ""}),
        ("project", {"project": "a/b"}),
        ("project", {"project": "a b"}),
        ("types", {"types": []}),
        ("types", {"types": "code"}),
        ("types", {"role": "viewer", "types": ["code"]}),
        ("max_depth", {"role": "admin", "max_depth": 1}),
        ("max_depth", {"max_depth": 11}),
        ("max_children", {"max_children": -1}),
        ("max_cost", {"max_cost": float("nan")}),
        ("expires", {"expires": 0}),
        ("expires", {"expires": "soon"}),
        ("expires", {"expires": "2020-01-01T00:00:00Z"}),
        ("by", {"by": ""}),
    ],
)
def test_what_makes_no_sense_is_refused_and_named(field: str, values: dict[str, Any]) -> None:
    given: dict[str, Any] = {"name": "coder", "role": "agent", "project": "p", **values}
    name, role = given.pop("name"), given.pop("role")
    with pytest.raises(Invalid) as caught:
        tokens.wanted("tok_1", name, role, NOW, **given)
    assert caught.value.field == field


def test_a_token_is_found_by_its_id_or_the_name_that_only_it_has() -> None:
    old = kept(id="tok_0", revoked_at=NOW - 1)
    live, twin = kept(), kept(id="tok_2")
    assert tokens.named([old, live], "coder", NOW) is live
    assert tokens.named([old, live], "tok_0", NOW) is old
    with pytest.raises(Invalid) as caught:
        tokens.named([old, live, twin], "coder", NOW)
    assert "tok_1, tok_2" in caught.value.message
    with pytest.raises(NotFound) as missing:
        tokens.named([old], "coder", NOW)
    assert missing.value.field == "token"
