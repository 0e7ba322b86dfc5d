"""A dag: its graph as it lives, its times, and what can be done about it; and the list of all of them."""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from dibs import NewTask
from tests.web.conftest import HELD_S, assert_accessible, looked_at
from tests.web.frames import LONGEST_MS, cheapest, drags
from tests.web.hostile import HOSTILE, assert_harmless, of_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Locator, Page

    from dibs.model.dag import Dag
    from dibs.sync import SyncQueue
    from tests.web.conftest import Server
    from tests.web.frames import Frames


def landing_page(queue: SyncQueue) -> dict[str, str]:
    """A dag under way: one task spawned others, one runs, one is a dead letter; ids by ref, the dag's own under ""."""
    dag = queue.add_dag(
        "Landing page for the spring sale",
        [
            NewTask("plan", ref="plan", title="Plan the page"),
            NewTask("research", ref="rivals", title="What others do", after=["plan"]),
            NewTask("research", ref="readers", title="Who reads it", after=["plan"]),
            NewTask("write", ref="copy", title="Write the copy", after=["rivals", "readers"]),
            NewTask("design", ref="design", title="Design it", after=["readers"]),
            NewTask("code", ref="build", title="Build it", after=["copy", "design"]),
            NewTask("check", ref="check", title="Check the links", after_ended=["build"]),
        ],
        budget=5.0,
        on_failure="continue",
    )
    (claim,) = queue.claim(agent="planner-1", types=["plan"])
    queue.spawn(claim, [NewTask("outline", title=f"Outline {number}", max_attempts=2) for number in range(1, 5)], True)
    for number in range(4):
        (kid,) = queue.claim(agent="writer-2", types=["outline"])
        if number < 3:
            queue.complete(kid, {"outline": number}, cost=0.02)
        else:
            queue.fail(kid, "nothing to say", retry=False)
    (claim,) = queue.claim(agent="planner-1", types=["plan"])
    queue.complete(claim, {"plan": "short"}, cost=0.1, tokens_in=900, tokens_out=80)
    (claim,) = queue.claim(agent="scout-1", types=["research"])
    queue.complete(claim, cost=0.31)
    (claim,) = queue.claim(agent="scout-1", types=["research"], lease=HELD_S)
    queue.renew(claim, progress=0.4, note="reading")
    return {"": dag.id, **{task.ref: task.id for task in dag.tasks if task.ref is not None}}


def node(page: Page, id: str) -> Locator:
    return page.locator(f'[data-task="{id}"]')


def opened(page: Page, dag: str, nodes: int = 1) -> None:
    page.goto(f"/dags/{dag}")
    expect(page.locator("[data-task]").nth(nodes - 1)).to_be_visible()


def test_a_dag_is_watched_as_it_lives(server: Server, page: Page) -> None:
    ids = landing_page(server.queue)
    opened(page, ids[""], 11)
    tasks = page.get_by_role("list", name="Tasks by status")
    expect(node(page, ids["readers"])).to_have_attribute("data-status", "running")
    expect(node(page, ids["copy"])).to_have_attribute("data-status", "pending")
    expect(node(page, ids["build"])).to_have_accessible_name("Build it, pending, on the critical path")
    expect(tasks).to_contain_text("1 running")
    expect(page.get_by_test_id("rf__minimap").or_(page.locator(".react-flow__minimap"))).to_be_visible()

    # What a node waits for is said where the pointer rests.
    node(page, ids["copy"]).hover()
    expect(page.get_by_role("tooltip")).to_contain_text(re.compile("waits? for", re.IGNORECASE))

    # What happens is seen without a reload.
    server.queue.cancel(ids["design"], "not needed")
    expect(node(page, ids["design"])).to_have_attribute("data-status", "cancelled")

    # A task that is added while one looks is drawn, too.
    late = server.queue.add("check", title="Late arrival", dag=ids[""], after=[ids["copy"]])
    expect(node(page, late.id)).to_have_accessible_name("Late arrival, pending", timeout=60_000)

    # What a task spawned folds into it, and back.
    expect(page.locator('[data-task][aria-label^="Outline"]')).to_have_count(4)
    page.get_by_role("button", name="Fold the 4 below Plan the page").click()
    expect(page.locator('[data-task][aria-label^="Outline"]')).to_have_count(0)
    page.get_by_role("button", name="Show the 4 below Plan the page").click()
    expect(page.locator('[data-task][aria-label^="Outline"]')).to_have_count(4)

    # By keys: along the edges, then open.
    graph = page.get_by_role("group", name=re.compile("Landing page.*nodes"))
    graph.focus()
    page.keyboard.press("ArrowDown")
    details = page.get_by_role("complementary", name="The selected task")
    expect(details).to_contain_text("Plan the page")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    expect(details).to_have_count(0)

    node(page, ids["readers"]).click()
    expect(details).to_contain_text("scout-1")
    expect(details).to_contain_text("reading")
    graph.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/tasks/{ids['readers']}"))


def test_the_view_follows_what_runs_until_one_moves_it(server: Server, page: Page) -> None:
    chain = [NewTask("step", ref=f"s{number}", after=[f"s{number - 1}"] if number else []) for number in range(12)]
    dag = server.queue.add_dag("A long chain", chain)
    opened(page, dag.id, 12)
    follow = page.get_by_role("button", name="Follow what runs (r)")
    follow.click()
    expect(follow).to_have_attribute("aria-pressed", "true")
    for _ in range(3):
        (claim,) = server.queue.claim(agent="walker", types=["step"], lease=HELD_S)
        running = node(page, claim.task.id)
        expect(running).to_have_attribute("data-status", "running")
        expect(running).to_be_in_viewport()
        page.wait_for_function(
            """([id]) => { const box = document.querySelector(`[data-task="${id}"]`).getBoundingClientRect();
                const frame = document.querySelector('.react-flow').getBoundingClientRect();
                return Math.abs(box.x + box.width / 2 - frame.x - frame.width / 2) < 200 && box.width > 60; }""",
            arg=[claim.task.id],
        )
        server.queue.complete(claim)
    box = page.locator(".react-flow").bounding_box()
    assert box is not None
    for _ in drags(page, {**box, "y": box["y"] + 100}, 1):
        pass
    expect(follow).to_have_attribute("aria-pressed", "false")


def test_from_afar_tasks_are_blocks_that_can_be_pointed_at_chosen_and_heard(server: Server, page: Page) -> None:
    chain = [NewTask("far", ref=f"f{number}", after=[f"f{number - 1}"] if number else []) for number in range(30)]
    dag = server.queue.add_dag("Seen from afar", chain)
    first, last = dag.tasks[0].id, dag.tasks[-1].id
    opened(page, dag.id, 30)
    expect(page.locator("[data-task] .truncate")).to_have_count(0)
    expect(node(page, last)).to_have_accessible_name("f29, pending, on the critical path")
    assert_accessible(page)

    def middle(id: str) -> tuple[float, float]:
        box = node(page, id).bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    page.mouse.move(*middle(last))
    expect(page.get_by_role("tooltip")).to_contain_text(re.compile("waits? for", re.IGNORECASE))
    (claim,) = server.queue.claim(agent="walker", types=["far"], lease=HELD_S)
    expect(node(page, first)).to_have_attribute("data-status", "running")
    blocks = page.locator("svg:has([data-task]) g path")
    painted = blocks.evaluate_all("all => all.map(one => one.getAttribute('d')).join()")
    server.queue.complete(claim)
    expect(node(page, first)).to_have_attribute("data-status", "completed")
    page.wait_for_function(
        """before => [...document.querySelectorAll("svg:has([data-task]) g path")]
            .map(one => one.getAttribute("d")).join() !== before""",
        arg=painted,
    )

    details = page.get_by_role("complementary", name="The selected task")
    graph = page.get_by_role("group", name=re.compile("Seen from afar.*nodes"))
    page.mouse.click(*middle(first))
    expect(details).to_contain_text("f0")
    expect(graph).to_have_attribute("aria-activedescendant", f"node-{first}")
    x, y = middle(first)
    page.mouse.click(x, y - 80)
    expect(details).to_have_count(0)
    page.mouse.click(x, y)
    expect(details).to_contain_text("f0")
    page.mouse.click(x, y)
    expect(page).to_have_url(re.compile(f"/tasks/{first}"))


def test_times_are_shown_with_the_wait_apart_from_the_work(server: Server, page: Page) -> None:
    ids = landing_page(server.queue)
    opened(page, ids[""])
    page.get_by_role("tab", name="Gantt").click()
    expect(page).to_have_url(re.compile("view=gantt"))
    chart = page.get_by_role("region", name="When each task waited and worked")
    plan = chart.get_by_role("listitem").filter(has_text="Plan the page")
    expect(plan).to_contain_text(re.compile("completed, queued .*, worked .* in 2 claims, on the critical path"))
    expect(plan.locator('[title*="suspended"]')).to_have_count(1)
    expect(plan.locator('[title*="attempt 1, completed"]')).to_have_count(1)
    expect(plan.locator('[title^="waiting for a person or for what it spawned"]')).to_have_count(1)
    expect(chart.locator('[title*="nothing to say"]')).to_have_count(1)
    running = chart.get_by_role("listitem").filter(has_text="Who reads it")
    expect(running.locator('[title$="so far"]')).to_have_count(1)
    chart.get_by_role("link", name=re.compile("Build it")).click()
    expect(page).to_have_url(re.compile(f"/tasks/{ids['build']}"))


def test_a_dag_is_steered_from_its_screen(server: Server, page: Page) -> None:
    queue = server.queue
    dag = queue.add_dag(
        "To be steered",
        [
            NewTask("first", ref="a", max_attempts=1),
            NewTask("second", ref="b", after=["a"]),
            NewTask("dear", max_cost=3),
        ],
        budget=1.0,
        on_failure="continue",
    )
    ids = {task.ref or task.type: task.id for task in dag.tasks}
    (claim,) = queue.claim(agent="w", types=["first"])
    queue.fail(claim, "it broke", retry=False)
    assert queue.claim(agent="w", types=["dear"]) == []
    opened(page, dag.id, 3)
    expect(node(page, ids["a"])).to_have_attribute("data-status", "dead_lettered")
    expect(page.get_by_role("list", name="Tasks by status")).to_contain_text("1 task parked")

    page.get_by_role("button", name="Retry failed (1)").click()
    page.get_by_role("dialog").get_by_role("button", name="Retry").click()
    expect(page.get_by_text("Retried 1 task.")).to_be_visible()
    expect(node(page, ids["a"])).to_have_attribute("data-status", "ready")
    expect(node(page, ids["b"])).to_have_attribute("data-status", "pending")
    assert queue.get(ids["a"]).reviews[-1].by == "admin"

    page.get_by_role("button", name="Raise budget").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("By how much").fill("4")
    dialog.get_by_role("button", name="Raise to $5.00").click()
    expect(page.get_by_text("The limit is $5.00 now.")).to_be_visible()
    expect(page.get_by_role("list", name="Tasks by status")).not_to_contain_text("parked")
    (dear,) = queue.claim(agent="w", types=["dear"], lease=HELD_S)
    expect(node(page, ids["dear"])).to_have_attribute("data-status", "running")

    page.get_by_role("button", name="Cancel dag").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason (optional)").fill("enough")
    dialog.get_by_role("button", name="Cancel dag").click()
    expect(page.get_by_text("Cancelled 3 tasks.")).to_be_visible()
    expect(node(page, ids["b"])).to_have_attribute("data-status", "cancelled")
    assert queue.get(ids["dear"]).cancel_reason == "enough"
    expect(page.get_by_role("button", name="Cancel dag")).to_have_count(0)
    assert queue.renew(dear).cancel


def test_whoever_may_only_look_sees_the_dag_and_no_buttons_that_change_it(server: Server, viewer_page: Page) -> None:
    ids = landing_page(server.queue)
    opened(viewer_page, ids[""], 11)
    for name in ("Cancel dag", "Raise budget", "Retry failed"):
        expect(viewer_page.get_by_role("button", name=re.compile(name))).to_have_count(0)
    viewer_page.goto("/dags")
    expect(viewer_page.get_by_role("link", name="Submit a dag")).to_have_count(0)


def test_a_dag_of_hostile_texts_is_drawn_as_text(server: Server, page: Page) -> None:
    queue = server.queue
    tasks = [
        NewTask(of_length(text, 100), ref=f"r{place}", title=text, after=[f"r{place - 1}"] if place else [])
        for place, text in enumerate(one.replace("\r", "") for one in HOSTILE)
    ]
    dag = queue.add_dag(HOSTILE[0], tasks, user=of_length(HOSTILE[1], 100))
    (claim,) = queue.claim(agent=of_length(HOSTILE[2], 100), types=[HOSTILE[0]], lease=HELD_S)
    queue.renew(claim, note=HOSTILE[6], progress=0.5)
    opened(page, dag.id, len(HOSTILE))
    # Seen from afar: which task is pointed at is looked up by the picture.
    node(page, claim.task.id).hover(force=True)
    expect(page.get_by_role("tooltip")).to_be_visible()
    node(page, claim.task.id).click(force=True)
    expect(page.get_by_role("complementary", name="The selected task")).to_contain_text("onmouseover")
    assert_harmless(page)
    queue.fail(claim, "".join(HOSTILE), retry=False)
    page.get_by_role("tab", name="Gantt").click()
    expect(page.get_by_role("region", name="When each task waited and worked").get_by_role("listitem")).to_have_count(
        len(HOSTILE)
    )
    assert_harmless(page)
    page.goto("/dags")
    expect(page.get_by_role("row", name=re.compile("window.__dibs_was_hit__"))).to_be_visible()
    assert_harmless(page)


def test_dags_are_listed_and_found(server: Server, page: Page) -> None:
    queue = server.queue
    done = queue.add_dag("Quarterly report", [NewTask("count", ref="x"), NewTask("count")])
    for claim in queue.claim(agent="w", types=["count"], limit=2):
        queue.complete(claim, cost=0.25)
    queue.add_dag("Another thing", [NewTask("never")])
    page.goto("/dags")
    table = page.get_by_role("table", name="Dags")
    row = table.get_by_role("row", name=re.compile("Quarterly report"))
    expect(row).to_contain_text("completed")
    expect(row).to_contain_text("2/2")
    expect(row).to_contain_text("$0.50")
    page.get_by_label("Title").fill("quarter")
    expect(table.get_by_role("row", name=re.compile("Another thing"))).to_have_count(0)
    expect(page).to_have_url(re.compile("text=quarter"))
    page.get_by_label("Status").select_option("failed")
    expect(page.get_by_text("No dag fits")).to_be_visible()
    page.get_by_label("Status").select_option("completed")
    row.get_by_role("link").click()
    expect(page).to_have_url(re.compile(done.id))


def test_a_dag_that_is_not_there_is_said_to_be_so(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page("admin", faults_allowed=True)
    page.goto("/dags/dag_01jabcdefghjkmnpqrstvwxyz0")
    expect(page.get_by_role("alert")).to_contain_text("This dag could not be loaded")


def test_the_screens_look_right(server: Server, open_page: Callable[..., Page]) -> None:
    ids = landing_page(server.queue)
    shown = f"/dags/{ids['']}"

    def graph(page: Page) -> None:
        expect(page.locator("[data-task]").first).to_be_visible()

    def gantt(page: Page) -> None:
        expect(page.locator('[title*="attempt 1, completed"]').first).to_be_visible()

    looked_at(open_page, f"{shown}?task={ids['copy']}", "dag", graph)
    looked_at(open_page, f"{shown}?view=gantt", "gantt", gantt)
    looked_at(open_page, "/dags", "dags", lambda page: expect(page.get_by_role("row").nth(1)).to_be_visible())


WIDTH, LAYERS = 50, 20


def wide_dag(queue: SyncQueue) -> Dag:
    """A thousand tasks in twenty layers; each comes after two of the layer before."""
    tasks = []
    for layer in range(LAYERS):
        for place in range(WIDTH):
            parents = {place, (place * 7 + layer) % WIDTH} if layer else set()
            after = [f"t{layer - 1}_{parent}" for parent in sorted(parents)]
            tasks.append(NewTask("wide", ref=f"t{layer}_{place}", title=f"Task {layer}.{place}", after=after))
    return queue.add_dag("A thousand tasks", tasks)


@contextmanager
def working(url: str, pause_s: float) -> Iterator[list[int]]:
    """Somebody works on it meanwhile, about as fast as told: two tasks, then a pause; how many were done."""
    import dibs

    done = [0]
    stopped = threading.Event()

    def work() -> None:
        with dibs.connect_sync(url) as queue:
            while not stopped.is_set():
                claims = queue.claim(agent="busy", types=["wide"], limit=2)
                for claim in claims:
                    queue.complete(claim, cost=0.01)
                done[0] += len(claims)
                time.sleep(pause_s)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield done
        assert thread.is_alive(), "nobody worked on it any more"
    finally:
        stopped.set()
        thread.join()


@pytest.mark.alone
def test_a_thousand_tasks_stay_smooth_while_they_are_worked_on(server: Server, store_url: str, page: Page) -> None:
    dag = wide_dag(server.queue)
    page.goto(f"/dags/{dag.id}")
    expect(page.locator("[data-task]").nth(999)).to_be_attached(timeout=60_000)
    frame = page.locator(".react-flow")
    box = frame.bounding_box()
    assert box is not None
    told = {}

    def panned(times: int) -> Frames:
        return cheapest(page, lambda: deque(drags(page, box, times), maxlen=0))

    told["all of it in sight, panning"] = panned(3)
    with working(store_url, 0.05) as done:
        found = panned(4)
    told[f"all of it in sight, panning, {done[0]} tasks done meanwhile"] = found
    page.get_by_role("group", name=re.compile("A thousand tasks")).focus()
    for key in ("ArrowDown", *["ArrowRight"] * 5, "Escape"):
        page.keyboard.press(key)
    expect(page.locator("[data-task] .truncate").first).to_be_visible()
    assert page.locator("[data-task]").count() < 400, "only what is in sight is drawn"
    told["near, panning"] = panned(4)
    with working(store_url, 0.05) as done:
        found = panned(8)
        # Whoever works on it may stand still for a while.
        while done[0] <= 10:
            found = panned(1)
    told[f"near, panning, {done[0]} tasks done meanwhile"] = found
    print()
    for what, frames in told.items():
        print(f"  1,000 tasks, {what}: {frames}")
    # How many there were depends on what else the machine does and on its graphics card; what one costs does not.
    assert all(frames.cost_ms < LONGEST_MS for frames in told.values()), told
