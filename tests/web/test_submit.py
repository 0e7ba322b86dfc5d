"""Writing a dag: what is wrong is said at its place, what it will be is seen, and once it is sent one is at it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.web import editing
from tests.web.conftest import looked_at
from tests.web.hostile import HOSTILE, assert_harmless

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.web.conftest import Server

GOOD = """title: Spring sale
tasks:
  - {ref: plan, type: plan, payload: {big: 12345678901234567890123, ok: yes}}
  - ref: write
    type: write
    after: [plan]
  - ref: check
    type: check
    after: [plan, write]
"""


def write(page: Page, text: str) -> None:
    editing.write(page, "The dag, in YAML or JSON", text)


def test_a_dag_is_written_previewed_sent_and_watched_to_its_end(server: Server, page: Page) -> None:
    page.goto("/submit")
    expect(page.get_by_text("Nothing written yet")).to_be_visible()
    send = page.get_by_role("button", name="Submit")
    expect(send).to_be_disabled()
    write(page, GOOD)
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("3 tasks, 3 edges, 3 in the longest chain")
    expect(preview.locator("[data-task]")).to_have_count(3)
    expect(preview.locator('[data-task="write"]')).to_have_accessible_name("write, pending, on the critical path")
    send.click()
    expect(page).to_have_url(re.compile(r"/dags/dag_\w+"))
    expect(page.locator("[data-task]")).to_have_count(3)

    dag = server.queue.get_dag(page.url.rpartition("/")[2])
    assert dag.title == "Spring sale"
    first = next(task for task in dag.tasks if task.ref == "plan")
    assert first.payload == {"big": 12345678901234567890123, "ok": True}
    for type in ("plan", "write", "check"):
        (claim,) = server.queue.claim(agent="w", types=[type])
        server.queue.complete(claim)
    expect(page.get_by_role("list", name="Tasks by status")).to_have_text(re.compile("3 completed"))
    expect(page.locator("header").get_by_text("completed", exact=True)).to_be_visible()


def test_what_is_wrong_is_said_with_its_line_and_shown_there(server: Server, page: Page) -> None:
    page.goto("/submit")
    wrong = page.get_by_role("alert")
    send = page.get_by_role("button", name="Submit")
    for text, line, said in (
        ("title: a\ntasks:\n  - type: [", 3, "Flow sequence"),
        ("title: a\ntasks:\n  - tpye: x\n    type: y", 3, "unknown field 'tpye'. Did you mean 'type'?"),
        ("title: a\ntasks:\n  - {ref: a, type: x}\n  - {type: y, after: [b]}", 4, "'b', which is no ref of this dag"),
        (
            "title: a\ntasks:\n- {ref: a, type: x, after: [b]}\n- {ref: b, type: x, after: [a]}",
            4,
            "wait for each other",
        ),
        ("title: a\ntasks:\n  - type: x\n    priority: soon", 4, "priority must be a number."),
        ('{"title": "a",\n "tasks": [}', 2, "not JSON"),
    ):
        write(page, text)
        expect(wrong).to_contain_text(said)
        expect(wrong).to_contain_text(f"line {line}")
        expect(send).to_be_disabled()
    write(page, "title: a\ntasks:\n  - type: x\n    priority: soon")
    wrong.get_by_role("button", name=re.compile("priority must be")).click()
    page.wait_for_function("getSelection().toString() === 'soon'")
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)


def test_what_only_the_server_refuses_is_shown_at_its_field(server: Server, open_page: Callable[..., Page]) -> None:
    page = open_page("admin", faults_allowed=True)
    page.goto("/submit")
    write(page, "title: a\ntasks:\n  - {ref: one, type: x}\n  - ref: two\n    type: x\n    priority: 500\n")
    page.get_by_role("button", name="Submit").click()
    wrong = page.get_by_role("alert")
    expect(wrong).to_contain_text("The server refuses it")
    expect(wrong).to_contain_text("line 6")
    expect(wrong).to_contain_text("priority")
    page.wait_for_function("getSelection().toString() === '500'")
    assert server.queue.find(type="x").items == []


def test_names_values_and_refs_are_offered(server: Server, page: Page) -> None:
    page.goto("/submit")
    write(page, "title: a\ntasks:\n  - ref: first\n    type: x\n  - type: y\n    aft")
    offered = page.locator(".cm-tooltip-autocomplete")
    page.keyboard.press("Control+Space")
    offered.get_by_role("option", name=re.compile("after_ended")).click()
    page.keyboard.type("[fi")
    offered.get_by_role("option", name="first").click()
    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("2 tasks, 1 edge")


def test_a_file_is_opened_and_what_was_written_survives_a_reload(server: Server, page: Page, tmp_path: Path) -> None:
    file = tmp_path / "dag.json"
    file.write_text('{"title": "From a file", "tasks": [{"type": "x"}, {"type": "y"}]}', encoding="utf-8")
    page.goto("/submit")
    expect(page.get_by_text("Nothing written yet")).to_be_visible()
    page.get_by_label("A file with a dag").set_input_files(file)
    text = page.get_by_role("region", name="Text")
    expect(text).to_contain_text("From a file")
    expect(text).to_contain_text("JSON")
    expect(page.get_by_role("region", name="Preview")).to_contain_text("2 tasks")
    page.reload()
    expect(text).to_contain_text("From a file")


def test_hostile_texts_stay_texts_in_editor_and_preview(server: Server, page: Page) -> None:
    import json

    tasks = [{"type": text[:100], "title": text, "payload": {text[:50]: text}} for text in HOSTILE]
    page.goto("/submit")
    write(
        page, json.dumps({"title": HOSTILE[0], "tasks": [*tasks, {HOSTILE[1]: 1, "type": "x", "after": [HOSTILE[2]]}]})
    )
    expect(page.get_by_role("alert")).to_contain_text("unknown field")
    expect(page.get_by_role("region", name="Preview").locator("[data-task]").first).to_be_visible()
    assert_harmless(page)


def test_whoever_may_only_look_cannot_submit(server: Server, viewer_page: Page) -> None:
    viewer_page.goto("/submit")
    write(viewer_page, GOOD)
    expect(viewer_page.get_by_role("region", name="Preview")).to_contain_text("3 tasks")
    expect(viewer_page.get_by_role("button", name="Submit")).to_have_count(0)
    viewer_page.keyboard.press("ControlOrMeta+Enter")
    expect(viewer_page.get_by_role("alert")).to_have_count(0)
    expect(viewer_page).to_have_url(re.compile("/submit$"))


def test_the_screen_looks_right(server: Server, open_page: Callable[..., Page]) -> None:
    def written(page: Page) -> None:
        page.get_by_role("button", name="Begin with an example").click()
        expect(page.get_by_role("region", name="Preview")).to_contain_text("5 tasks, 5 edges")
        expect(page.get_by_role("region", name="Preview").locator("[data-task]").first).to_be_visible()

    looked_at(open_page, "/submit", "submit", written)
