"""Links that log in once: how a code is told from anything else, and what may be asked for."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.model.role import Role
from dibs.rules import logins

NOW = 1_000_000


def wanted(**options: Any) -> logins.Kept:
    usual: dict[str, Any] = {"name": "ada", "role": "admin", "project": "p", "valid": "10m", "lasts": "7d", "by": None}
    given = {**usual, **options}
    return logins.wanted(given.pop("name"), given.pop("role"), NOW, **given)


def test_a_code_is_long_and_kept_as_its_digest() -> None:
    code = logins.code_of(bytes(range(24)))
    assert logins.is_code(code)
    assert len(code) == 48
    assert code not in logins.digest_of(code)
    assert logins.digest_of(code) != logins.digest_of(logins.code_of(bytes(24)))


@pytest.mark.parametrize("text", [None, 5, "", "0" * 47, "0" * 49, "G" * 48, "A" * 48, "dibs_" + "0" * 43])
def test_anything_else_is_no_code(text: Any) -> None:
    assert not logins.is_code(text)


def test_what_is_kept_says_who_may_come_in_and_for_how_long() -> None:
    assert wanted(by="shell:ada") == logins.Kept(
        name="ada",
        role=Role.ADMIN,
        project="p",
        expires_at=NOW + 600_000_000,
        lasts_s=604_800.0,
        created_by="shell:ada",
    )
    assert wanted(role="viewer", valid=1).role is Role.VIEWER


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("role", "root"),
        ("valid", 0),
        ("valid", "25h"),
        ("valid", "soon"),
        ("lasts", 0.5),
        ("lasts", "91d"),
        ("by", ""),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(field: str, value: Any) -> None:
    with pytest.raises(Invalid) as refused:
        wanted(**{field: value})
    assert refused.value.field == field
