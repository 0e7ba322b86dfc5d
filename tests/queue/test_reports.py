"""Only tasks that leave open what their decision report must say look what their type wants to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import dibs

if TYPE_CHECKING:
    from pathlib import Path

OPEN = {"validation": "decision-report"}
OTHERS: list[Any] = [
    None,
    {"validation": "none"},
    {"validation": "regex", "pattern": "decision-report"},
    {**OPEN, "fields": ["why"]},
]


@pytest.mark.parametrize("url", ["memory:", "sqlite"])
def test_nobody_else_reads_what_was_set(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with dibs.connect_sync(url if url == "memory:" else f"sqlite:///{tmp_path}/q.db") as queue:
        queue.set_report("t", ["risks"])
        read = []
        store = queue.queue.store
        documents = store.documents

        async def noted(*args: Any, **kwargs: Any) -> Any:
            read.append(args)
            return await documents(*args, **kwargs)

        monkeypatch.setattr(store, "documents", noted)
        for expects in OTHERS:
            queue.add("t", expects=expects)
        queue.add_many([dibs.NewTask("t", expects=expects) for expects in OTHERS for _ in range(100)])
        assert read == []
        found = queue.add_many([dibs.NewTask("t", expects=OPEN) for _ in range(400)])
        assert read == [("default", "report")], "once for all of them"
        assert all(task.expects == {**OPEN, "fields": ["risks"]} for task in found)


@pytest.mark.parametrize("expects", [{"validation": object()}, {"validation": {5}}, "decision-report"])
def test_what_is_no_contract_is_refused_as_ever(expects: Any) -> None:
    with dibs.connect_sync("memory:") as queue:
        for many in (1, 400):
            with pytest.raises(dibs.Invalid) as error:
                queue.add_many([dibs.NewTask("t", expects=expects) for _ in range(many)])
            assert error.value.field == "expects"
