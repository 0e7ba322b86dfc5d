"""From a queue to Loki's files, from there to another queue, and out again; on every store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs import NewTask
from dibs.errors import Invalid, KeyReused
from dibs.loki import exporting, importing
from dibs.loki.folder import read_folder
from dibs.loki.planning import plan
from tests.loki.files import known_to_loki, read, task, write

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.loki.importing import Counts
    from dibs.testing import FakeClock
    from tests.loki.conftest import Fresh


def brought_in(queue: dibs.SyncQueue, root: Path, *, dead_letters: bool = False) -> Counts:
    planned = plan(read_folder(str(root)).tasks, dead_letters=dead_letters)
    return importing.add_planned(queue, planned, importing.checked(planned))


def by_ref(queue: dibs.SyncQueue) -> dict[str | None, dibs.Task]:
    return {found.ref: found for found in queue.find(limit=1000).items}


def lived_in(queue: dibs.SyncQueue, clock: FakeClock) -> None:
    """A queue with tasks in every state that there is."""
    queue.add_dag(
        "Landing page",
        [
            NewTask("research", {"topic": "coffee"}, ref="facts", title="Find facts", tags=["web"], timeout="5m"),
            NewTask("design", ref="look", priority=17.5, retry="fixed:5s", context={"goal": "calm", "tone": "dry"}),
            NewTask("code", "just text", ref="build", after=["facts", "look"], requires=["python"], key="build-1"),
            NewTask("notify", ref="tell", after_ended=["build"], max_attempts=7),
        ],
        on_failure="continue",
    )
    queue.add("sleep", ref_payload("later"), run_after="2h")
    queue.add("done", ref_payload("done"))
    [claim] = queue.claim("worker-1", types=["done"])
    queue.complete(claim, {"n": 1}, decision={"why": "easy"}, cost=0.25)
    for type, verb in (("dead", {"retry": False}), ("again", {})):
        queue.add(type, ref_payload(type))
        [claim] = queue.claim("worker-1", types=[type])
        queue.fail(claim, f"{type}: no broom", **verb)  # type: ignore[arg-type]
    gone = queue.add("gone", ref_payload("gone"))
    queue.cancel(gone.id, reason="too late")
    queue.add("busy", ref_payload("busy"))
    [claim] = queue.claim("worker-2", types=["busy"], lease=3600)
    clock.advance(1)


def ref_payload(name: str) -> dict[str, Any]:
    return {"action": name}


def test_every_task_is_in_the_file_of_its_state(fresh: Fresh, clock: FakeClock, tmp_path: Path) -> None:
    queue = fresh()
    lived_in(queue, clock)
    counts = exporting.export(queue, str(tmp_path / "a"))
    assert counts == {
        "pending.json": 6,
        "in-progress.json": 1,
        "completed.json": 1,
        "dead-letter.json": 1,
        "cancelled.json": 1,
    }
    files = read(tmp_path / "a")
    assert [each["type"] for each in files["pending"]] == ["design", "research", "code", "notify", "sleep", "again"]
    [dead] = files["dead-letter"]
    assert (dead["lastError"], dead["dibs"]["history"][0]["agent"]) == ("dead: no broom", "worker-1")
    [busy] = files["in-progress"]
    assert busy["claimedBy"] == "worker-2"
    [done] = files["completed"]
    assert done["result"] == {"status": "success", "output": {"n": 1}, "decisionReport": {"why": "easy"}}
    assert files["cancelled"][0]["cancelReason"] == "too late"


def test_out_in_and_out_again_says_the_same(fresh: Fresh, clock: FakeClock, tmp_path: Path) -> None:
    first, second = fresh(), fresh()
    lived_in(first, clock)
    exporting.export(first, str(tmp_path / "a"))
    counts = brought_in(second, tmp_path / "a")
    assert (counts.added, counts.already) == (7, 0)
    assert counts.added_from == {"in-progress": 1, "pending": 6}
    clock.advance(1)
    exporting.export(second, str(tmp_path / "b"))

    before, after = known_to_loki(tmp_path / "a"), known_to_loki(tmp_path / "b")
    [busy] = before["in-progress"]
    [waiting_again] = [each for each in after["pending"] if each["id"] == busy["id"]]
    assert waiting_again == {**busy, "claimedBy": None, "claimedAt": None}
    assert [each for each in after["pending"] if each["id"] != busy["id"]] == before["pending"]
    # dibs has no verb to add what is over.
    assert after["in-progress"] == after["completed"] == after["dead-letter"] == after["cancelled"] == []


def test_what_dibs_knows_beyond_loki_comes_back(fresh: Fresh, clock: FakeClock, tmp_path: Path) -> None:
    first, second = fresh(), fresh()
    lived_in(first, clock)
    exporting.export(first, str(tmp_path / "a"))
    brought_in(second, tmp_path / "a")
    before, after = by_ref(first), by_ref(second)
    for ref in ("facts", "look", "build", "tell"):
        for name in ("id", "title", "payload", "priority", "timeout", "tags", "requires", "retry", "key", "status"):
            assert getattr(after[ref], name) == getattr(before[ref], name), (ref, name)
        assert after[ref].depends_on == before[ref].depends_on
        assert after[ref].max_attempts == before[ref].max_attempts
    assert after["look"].context == {**before["look"].context, "loki": after["look"].context["loki"]}

    # The kinds of the edges came along: one needs success, the other only an end.
    for type in ("research", "design"):
        [claim] = second.claim("worker", types=[type])
        second.complete(claim, f"output of {type}")
    [claim] = second.claim("worker", types=["code"], capabilities=["python"])
    assert claim.inputs == {"facts": "output of research", "look": "output of design"}
    second.fail(claim, "it does not compile", retry=False)
    [claim] = second.claim("worker", types=["notify"])
    assert claim.task.ref == "tell"


def test_large_values_are_written_whole(fresh: Fresh, tmp_path: Path) -> None:
    text = "x" * 100_000
    queue = fresh()
    queue.add("done", {"text": text})
    [claim] = queue.claim("worker-1")
    queue.complete(claim, {"answer": text})
    exporting.export(queue, str(tmp_path / "a"))
    [written] = read(tmp_path / "a")["completed"]
    assert written["payload"]["text"] == written["result"]["output"]["answer"] == text


def test_importing_again_adds_nothing(fresh: Fresh, clock: FakeClock, tmp_path: Path) -> None:
    first, second = fresh(), fresh()
    lived_in(first, clock)
    exporting.export(first, str(tmp_path / "a"))
    assert brought_in(second, tmp_path / "a").added == 7
    again = brought_in(second, tmp_path / "a")
    assert (again.added, again.already) == (0, 7)
    # Nor into the queue that it came from.
    home = brought_in(first, tmp_path / "a", dead_letters=True)
    assert (home.added, home.already) == (0, 8)


def test_lokis_own_tasks_are_known_by_their_ids(fresh: Fresh, tmp_path: Path) -> None:
    queue = fresh()
    pending = [task("b", dependencies=["a", "done"], priority=9), task("c", dependencies=["b"])]
    write(tmp_path / "a", pending=pending, in_progress=[task("a", claimedBy="x")], completed=[task("done")])
    assert (brought_in(queue, tmp_path / "a").added, brought_in(queue, tmp_path / "a").already) == (3, 3)
    tasks = by_ref(queue)
    assert {ref: found.status for ref, found in tasks.items()} == {"a": "ready", "b": "pending", "c": "pending"}
    assert (tasks["b"].key, tasks["b"].priority, tasks["b"].depends_on) == ("loki:b", 10, (tasks["a"].id,))

    # New ones join those that are there.
    write(
        tmp_path / "a",
        pending=[*pending, task("d", dependencies=["c"])],
        in_progress=[task("a")],
        completed=[task("done")],
    )
    assert (brought_in(queue, tmp_path / "a").added, by_ref(queue)["d"].depends_on) == (1, (tasks["c"].id,))

    exporting.export(queue, str(tmp_path / "b"))
    written = {each["id"]: each for each in read(tmp_path / "b")["pending"]}
    assert {id: each["dependencies"] for id, each in written.items()} == {"a": [], "b": ["a"], "c": ["b"], "d": ["c"]}
    assert written["c"] | {"dibs": 0} == task("c", dependencies=["b"], dibs=0)


def test_a_task_that_was_changed_since_is_refused_and_nothing_is_added(fresh: Fresh, tmp_path: Path) -> None:
    queue = fresh()
    brought_in(queue, write(tmp_path / "a", pending=[task("a")]))
    write(tmp_path / "a", pending=[task("new"), task("a", payload={"other": "work"})])
    with pytest.raises(KeyReused, match=r"'loki:a'.* give it another id there"):
        brought_in(queue, tmp_path / "a")
    assert list(by_ref(queue)) == ["a"]


def test_a_task_whose_name_was_taken_meanwhile_goes_by_its_own(fresh: Fresh, tmp_path: Path) -> None:
    queue = fresh()
    root = write(tmp_path / "a", pending=[task("a")])
    brought_in(queue, root)
    old = by_ref(queue)["a"]
    queue.cancel(old.id)
    brought_in(queue, root)
    exporting.export(queue, str(tmp_path / "b"))
    files = read(tmp_path / "b")
    assert [each["id"] for each in files["pending"]] == ["a"]
    assert [each["id"] for each in files["cancelled"]] == [old.id]


def test_graphs_that_use_the_same_refs_come_back_apart(fresh: Fresh, tmp_path: Path) -> None:
    first, second = fresh(), fresh()
    for number in range(3):
        first.add_dag(f"dag {number}", [NewTask("a", number, ref="a"), NewTask("b", number, ref="b", after=["a"])])
    exporting.export(first, str(tmp_path / "a"))
    assert brought_in(second, tmp_path / "a").added == 6
    found = {each.id: each for each in second.find(limit=100).items}
    children = [each for each in found.values() if each.type == "b"]
    assert [found[each.depends_on[0]].payload for each in children] == [each.payload for each in children]
    assert {each.ref for each in children} == {"b"}


def test_a_filter_may_not_tear_a_task_from_what_it_waits_for(fresh: Fresh, tmp_path: Path) -> None:
    queue = fresh()
    parent = queue.add("a", tags=["web"])
    child = queue.add("b", after=[parent], tags=["web"], user="ada")
    with pytest.raises(Invalid, match=f"{child.id} waits for {parent.id}") as refused:
        exporting.export(queue, str(tmp_path / "a"), type="b")
    assert refused.value.field == "type"
    assert not (tmp_path / "a").exists()
    assert exporting.export(queue, str(tmp_path / "a"), tag="web")["pending.json"] == 2

    # What it no longer waits for may stay behind.
    [claim] = queue.claim("worker", types=["a"])
    queue.complete(claim)
    assert exporting.export(queue, str(tmp_path / "b"), user="ada")["pending.json"] == 1
    assert read(tmp_path / "b")["pending"][0]["dependencies"] == []


def test_more_tasks_than_a_page_or_a_call_takes(fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = fresh(), fresh()
    monkeypatch.setattr(exporting, "PAGE", 10)
    monkeypatch.setattr(importing, "MAX_TASKS_PER_CALL", 7)
    last: list[dibs.Task] = []
    for number in range(25):
        last = [first.add("link", number, after=last)]
    seen: list[int] = []
    exporting.export(first, str(tmp_path / "a"), progress=seen.append)
    assert seen == [10, 20, 25]
    assert brought_in(second, tmp_path / "a").added == 25
    order = []
    while claims := second.claim("worker"):
        order.append(claims[0].task.payload)
        second.complete(claims[0])
    assert order == list(range(25))


def test_an_import_that_fails_half_way_says_so_and_goes_on_later(
    queue: dibs.SyncQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "MAX_TASKS_PER_CALL", 2)
    blocker = queue.add("eng-backend", {"other": "work"}, key="loki:d")
    root = write(tmp_path / "a", pending=[task(id) for id in "abcd"])
    with pytest.raises(KeyReused, match="2 tasks were added before that"):
        brought_in(queue, root)
    queue.cancel(blocker.id)
    counts = brought_in(queue, root)
    assert (counts.added, counts.already) == (2, 2)


def test_a_rehearsal_says_what_would_happen_and_changes_nothing(fresh: Fresh, clock: FakeClock, tmp_path: Path) -> None:
    first, second = fresh(), fresh()
    lived_in(first, clock)
    exporting.export(first, str(tmp_path / "a"))
    planned = plan(read_folder(str(tmp_path / "a")).tasks)
    counts = importing.rehearse(second, planned, importing.checked(planned))
    assert (counts.added, counts.already) == (7, 0)
    assert second.find().items == []
    assert importing.rehearse(first, planned, importing.checked(planned)).already == 7
    root = write(tmp_path / "b", pending=[task("x"), task("y")])
    brought_in(second, root)
    second.cancel(by_ref(second)["x"].id)
    planned = plan(read_folder(str(root)).tasks)
    counts = importing.rehearse(second, planned, importing.checked(planned))
    assert (counts.added, counts.already) == (1, 1)
