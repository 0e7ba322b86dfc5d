"""Tokens, and links that let a browser in."""

from __future__ import annotations

from tests.doors.story import ON_A_STORE, WITH_TOKENS, Step, Story

STORIES = (
    Story(
        "a token is made, shown and revoked",
        Step("tokens", shell="token ls", answers=[]),
        Step(
            "create_token",
            {"name": "coder", "types": ["code", "test"], "expires": "30d"},
            shell="token add coder --type code --type test --expires 30d",
            saves="coder",
            answers={"name": "coder", "role": "agent", "project": "default", "types": ["code", "test"]},
        ),
        Step(
            "create_token",
            {"name": "ops", "role": "admin"},
            shell="token add ops --role admin",
            answers={"role": "admin", "types": None, "expires_at": None},
        ),
        Step(
            "tokens",
            shell="token ls",
            answers=[
                {"id": "$coder.id", "name": "coder", "types": ["code", "test"], "expires_at": "$coder.expires_at"},
                {"name": "ops", "types": None, "secret": None},
            ],
        ),
        Step("revoke_token", {"token": "ops"}, shell="token revoke ops", answers={"name": "ops"}),
        Step("revoke_token", {"token": "ops"}, shell="token revoke ops", refused="not_found", wrong="token"),
        Step("tokens", shell="token ls", answers=[{"name": "coder"}]),
        Step("tokens", {"ended": True}, shell="token ls --all", answers=[{"name": "coder"}, {"name": "ops"}]),
        Step("revoke_token", {"token": "$coder.id"}, shell="token revoke $coder.id", answers={"name": "coder"}),
    ),
    Story(
        "a rotated token has the same rights, and the old one ends",
        Step(
            "create_token",
            {"name": "coder", "max_depth": 1, "max_children": 2, "max_cost": 0.5},
            shell="token add coder --max-depth 1 --max-children 2 --max-cost 0.5",
        ),
        Step(
            "rotate_token",
            {"token": "coder"},
            shell="token rotate coder",
            saves="second",
            answers={"name": "coder", "max_depth": 1, "max_children": 2, "max_cost": 0.5},
        ),
        Step("tokens", shell="token ls", answers=[{"id": "$second.id", "max_depth": 1, "max_cost": 0.5}]),
        Step("rotate_token", {"token": "coder", "grace": "1h"}, shell="token rotate coder --grace 1h", saves="third"),
        Step("tokens", shell="token ls", answers=[{"id": "$second.id"}, {"id": "$third.id"}]),
    ),
    Story(
        "a link lets a browser in once",
        Step(
            "create_login",
            {"name": "laptop", "role": "viewer", "valid": "5m", "lasts": "1d"},
            answers={"name": "laptop", "role": "viewer"},
        ),
        *(
            Step("create_login", {name: value}, shell=f"login-link {shell}", refused="invalid", wrong=name)
            for name, value, shell in (
                ("name", "", "--name ''"),
                ("role", "root", "--role root"),
                ("valid", "soon", "--valid soon"),
                ("valid", "2d", "--valid 2d"),
                ("lasts", 0, "--lasts 0"),
                ("lasts", "1y", "--lasts 1y"),
            )
        ),
        Step(
            "audit",
            {"act": "create_login"},
            doors=ON_A_STORE,
            answers=[{"outcome": "done", "target": "laptop, viewer"}],
        ),
    ),
    Story(
        "what is no token is refused by its field and is nowhere written down",
        *(
            Step("create_token", {"name": "x", **options}, shell=f"token add {shell}", refused="invalid", wrong=wrong)
            for options, shell, wrong in (
                ({"name": ""}, "''", "name"),
                ({"role": "root"}, "x --role root", "role"),
                ({"project": ""}, "x --project ''", "project"),
                ({"types": [""]}, "x --type ''", "types"),
                ({"role": "viewer", "types": ["a"]}, "x --role viewer --type a", "types"),
                ({"expires": "soon"}, "x --expires soon", "expires"),
                ({"max_depth": 99}, "x --max-depth 99", "max_depth"),
                ({"max_children": -1}, "x --max-children -1", "max_children"),
                ({"max_cost": "much"}, "x --max-cost much", "max_cost"),
            )
        ),
        Step("create_token", shell="token add", doors=("shell",), refused="invalid", wrong="name"),
        Step("rotate_token", shell="token rotate", doors=("shell",), refused="invalid", wrong="token"),
        Step("revoke_token", {"token": "x"}, shell="token revoke x", refused="not_found", wrong="token"),
        Step("rotate_token", {"token": "x"}, shell="token rotate x", refused="not_found", wrong="token"),
        Step("tokens", {"ended": True}, shell="token ls --all", answers=[]),
        # A server writes down what it refuses.
        Step("audit", shell="audit ls", doors=ON_A_STORE, answers=[]),
        Step(
            "audit",
            {"act": "rotate_token"},
            doors=WITH_TOKENS,
            answers=[{"outcome": "not_found", "target": "/v1/tokens/x/rotate"}],
        ),
    ),
)
