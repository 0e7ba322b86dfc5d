"""The audit: what was done to tokens, whether it was changed, and what is dropped."""

from __future__ import annotations

from tests.doors.story import ON_A_STORE, WITH_TOKENS, Step, Story

STORIES = (
    Story(
        "what is done to tokens is in the audit",
        Step("audit", {"act": "create_token"}, shell="audit ls --act create_token", answers=[]),
        Step("create_token", {"name": "coder"}, shell="token add coder"),
        Step("revoke_token", {"token": "coder"}, shell="token revoke coder"),
        Step(
            "audit",
            shell="audit ls",
            saves="entries",
            answers=[
                {"number": 1, "act": "create_token", "outcome": "done", "count": 1},
                {"number": 2, "act": "revoke_token", "outcome": "done", "project": "default"},
            ],
        ),
        Step("audit", {"act": "revoke_token"}, shell="audit ls --act revoke_token", answers=[{"number": 2}]),
        Step(
            "audit", {"after": 1, "limit": 1}, shell="audit ls --after 1 --limit 1", answers=[{"act": "revoke_token"}]
        ),
        Step("audit", {"limit": 1}, shell="audit ls --limit 1", answers=[{"number": 2}]),
        Step("audit", {"by": "nobody"}, shell="audit ls --by nobody", answers=[]),
        Step(
            "verify_audit",
            shell="audit verify",
            answers={"sound": True, "checked": 2, "number": 2, "head": "$entries.1.digest", "pruned": 0, "faults": []},
        ),
        Step(
            "verify_audit",
            {"noted": "2:${entries.1.digest}"},
            shell="audit verify --noted 2:${entries.1.digest}",
            answers={"sound": True},
        ),
        Step(
            "verify_audit",
            {"noted": "1:${entries.1.digest}"},
            shell="audit verify --noted 1:${entries.1.digest}",
            answers={"sound": False},
        ),
        Step("verify_audit", {"noted": "x"}, shell="audit verify --noted x", refused="invalid", wrong="noted"),
        Step("prune_audit", {"keep": 1}, shell="audit prune --keep 1", answers=1),
        # A server also writes down what its admins do, and what it refuses.
        Step(
            "verify_audit",
            shell="audit verify",
            doors=ON_A_STORE,
            answers={"sound": True, "number": 3, "checked": 2, "pruned": 1},
        ),
        Step("verify_audit", doors=WITH_TOKENS, answers={"sound": True, "number": 4, "checked": 3, "pruned": 1}),
        Step("prune_audit", shell="audit prune", answers=0),
        Step("audit", {"after": -1}, shell="audit ls --after -1", refused="invalid", wrong="after"),
        Step("audit", {"limit": 0}, shell="audit ls --limit 0", refused="invalid", wrong="limit"),
        Step("prune_audit", {"keep": -1}, shell="audit prune --keep -1", refused="invalid", wrong="keep"),
    ),
)
