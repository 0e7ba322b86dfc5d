"""Schedules, triggers and hooks: added, tried, paused, edited and removed in the browser."""

from __future__ import annotations

import hmac
import json
import re
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import dibs
from tests.server.process import up
from tests.web.conftest import Server, assert_accessible, looked_at, shot
from tests.web.editing import write
from tests.web.hostile import HOSTILE, assert_harmless
from tests.web.test_tokens import shown_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Locator, Page


class Receiver:
    """Somebody who is told: what came in, and what is answered."""

    def __init__(self) -> None:
        self.came: list[bytes] = []
        self.paths: list[str] = []
        self.status = 204
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.paths.append(self.path)
                receiver.came.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(receiver.status)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Says nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/dibs"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, store_url: str, receiver: Receiver) -> Iterator[Server]:
    """A server that may send to the receiver."""
    target = f"127.0.0.1:{receiver.server.server_port}"
    with (
        up(tmp_path_factory.mktemp("home"), store_url, "--allow-target", target) as process,
        dibs.connect_sync(store_url) as queue,
    ):
        tokens = {role: queue.create_token(role, role=role).secret for role in ("admin", "viewer", "orchestrator")}
        yield Server(process.url, queue, tokens, process)


def row_of(page: Page, kind: str, name: str) -> Locator:
    return page.locator(f"li[data-{kind}='{name}']")


def shows(page: Page, kind: str, name: str) -> None:
    expect(row_of(page, kind, name)).to_be_visible()


def more(page: Page, name: str, choice: str) -> None:
    page.get_by_role("button", name=f"More about {name}", exact=True).click()
    page.get_by_role("menuitem", name=choice).click()


def remove(page: Page, name: str) -> None:
    more(page, name, "Remove…")
    page.get_by_role("dialog").get_by_role("button", name="Remove it").click()


def test_a_schedule_is_added_paused_edited_and_removed(server: Server, open_page: Callable[..., Page]) -> None:
    page, queue = open_page(faults_allowed=True), server.queue
    page.goto("/schedules")
    expect(page.get_by_text("No schedules")).to_be_visible()
    page.get_by_role("button", name="Add a schedule").click()
    dialog = page.get_by_role("dialog", name="Add a schedule")
    dialog.get_by_label("Name").fill("audit")
    dialog.get_by_label("Cron").fill("61 2 * * *")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_label("Cron")).to_have_attribute("aria-invalid", "true")
    write(page, "Template", '{"type": ')
    expect(dialog.get_by_role("alert").filter(has_text="This is not JSON")).to_be_visible()
    expect(dialog.get_by_role("button", name="Save")).to_be_disabled()
    assert_accessible(page)
    dialog.get_by_label("Cron").fill("30 2 * * *")
    dialog.get_by_label("Time zone").fill("Europe/Berlin")
    write(page, "Template", '{"type": "audit", "payload": {"id": 12345678901234567890}}')
    shot(page, "schedules-dialog")
    dialog.get_by_role("button", name="Save").click()
    row = row_of(page, "schedule", "audit")
    expect(row).to_contain_text("30 2 * * *")
    found = queue.get_schedule("audit")
    assert (found.timezone, found.task) == ("Europe/Berlin", {"type": "audit", "payload": {"id": 12345678901234567890}})

    row.get_by_role("button", name="next runs").click()
    expect(page.get_by_role("list", name="Next runs of audit").get_by_role("listitem")).to_have_count(5)
    page.get_by_role("button", name="Pause audit").click()
    expect(row).to_contain_text("paused")
    expect(page.get_by_text("audit is paused.")).to_be_visible()
    assert queue.get_schedule("audit").paused
    page.get_by_role("button", name="Undo").click()
    expect(row).not_to_contain_text("paused")

    more(page, "audit", "Edit…")
    dialog = page.get_by_role("dialog", name="Schedule audit")
    expect(dialog.get_by_label("Template")).to_contain_text("12345678901234567890")
    queue.add_schedule("audit", cron="0 5 * * *", timezone="Europe/Berlin", task={"type": "audit"}, replace=True)
    dialog.get_by_label("When").select_option("every")
    dialog.get_by_label("Every").fill("6h")
    dialog.get_by_label("If the last one has not ended").select_option("skip")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("status")).to_contain_text("It now says: 0 5 * * *")
    dialog.get_by_role("button", name="Replace with mine").click()
    expect(row).to_contain_text("every 6h")
    expect(row).to_contain_text("overlap: skip")

    remove(page, "audit")
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_contain_text("every 6h")
    assert queue.get_schedule("audit").overlap == "skip"


def test_what_a_schedule_made_is_a_link(server: Server, page: Page) -> None:
    server.queue.add_schedule("once", at="1s", task={"type": "announce"})
    page.goto("/schedules")
    row = row_of(page, "schedule", "once")
    expect(row).to_contain_text("no time is left", timeout=60_000)
    expect(row.get_by_role("link")).to_have_attribute("href", re.compile("/tasks/task_"))
    expect(row).to_contain_text("1 made")


def test_a_trigger_is_added_tried_edited_and_removed(server: Server, open_page: Callable[..., Page]) -> None:
    page, queue = open_page(faults_allowed=True), server.queue
    page.goto("/triggers")
    page.get_by_role("button", name="Add a trigger").click()
    dialog = page.get_by_role("dialog", name="Add a trigger")
    dialog.get_by_label("Name").fill("repair")
    write(page, "Only where", '{"event.task.type": "code"}')
    dialog.get_by_label("At most").fill("many")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_label("At most")).to_have_attribute("aria-invalid", "true")
    assert_accessible(page)
    dialog.get_by_label("At most").fill("10/min")
    dialog.get_by_role("button", name="Save").click()
    row = row_of(page, "trigger", "repair")
    expect(row).to_contain_text("event.task.type = code")

    page.get_by_role("button", name="Test repair").click()
    dialog = page.get_by_role("dialog", name="Test repair")
    write(page, "Event", '{"type": "task.dead_lettered", "task": {"id": "task_7", "type": "code", "title": "T"}}')
    dialog.get_by_role("button", name="Try it").click()
    expect(dialog.get_by_role("status")).to_contain_text("It fits")
    expect(dialog.get_by_text('"task_7"', exact=True)).to_have_count(2)
    shot(page, "triggers-test")
    write(page, "Event", '{"type": "task.dead_lettered", "task": {"type": "lint"}}')
    dialog.get_by_role("button", name="Try it").click()
    expect(dialog.get_by_role("status")).to_contain_text("It does not fit")
    dialog.get_by_role("button", name="Back").click()

    more(page, "repair", "Edit…")
    dialog = page.get_by_role("dialog", name="Trigger repair")
    dialog.get_by_label("Events").fill("dag.failed, task.dead_lettered")
    dialog.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("dag.failed, task.dead_lettered")
    page.get_by_role("button", name="Pause repair").click()
    expect(row).to_contain_text("paused")
    page.get_by_role("button", name="Resume repair").click()
    expect(page.get_by_text("repair goes on.")).to_be_visible()
    expect(row).not_to_contain_text("paused")
    assert not queue.get_trigger("repair").paused
    remove(page, "repair")
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").last.click()
    expect(row).to_contain_text("dag.failed")


def test_the_secret_of_a_webhook_is_shown_once(server: Server, page: Page) -> None:
    page.goto("/triggers")
    page.get_by_role("button", name="Add a trigger").click()
    dialog = page.get_by_role("dialog", name="Add a trigger")
    dialog.get_by_label("Name").fill("review")
    dialog.get_by_label("When").select_option("webhook")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog").get_by_text(f"{server.url}/in/review")).to_be_visible()
    secret = shown_once(page, "review")
    assert len(secret) > 20
    expect(row_of(page, "trigger", "review")).to_contain_text("signed as github")


def test_a_hook_is_told_tested_rotated_replayed_and_removed(
    server: Server, receiver: Receiver, open_page: Callable[..., Page]
) -> None:
    page, queue = open_page(faults_allowed=True), server.queue
    page.goto("/hooks")
    page.get_by_role("button", name="Add a hook").click()
    dialog = page.get_by_role("dialog", name="Add a hook")
    dialog.get_by_label("Name").fill("ci")
    dialog.get_by_label("Address").fill("ftp://nowhere")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_label("Address")).to_have_attribute("aria-invalid", "true")
    assert_accessible(page)
    dialog.get_by_label("Address").fill(receiver.url)
    dialog.get_by_label("Events").fill("task.completed")
    dialog.get_by_role("button", name="Save").click()
    secret = shown_once(page, "ci")
    assert secret.startswith("whsec_")
    row = row_of(page, "hook", "ci")
    expect(row).to_contain_text("active")

    page.get_by_role("button", name="Test ci").click()
    deliveries = page.get_by_role("table", name="Deliveries of ci")
    expect(deliveries).to_contain_text("delivered", timeout=60_000)
    assert receiver.came
    queue.add("told")
    [claim] = queue.claim("coder-1", types=["told"])
    queue.complete(claim)
    expect(deliveries).to_contain_text("task.completed", timeout=60_000)
    shot(page, "hooks-deliveries")

    more(page, "ci", "Edit…")
    dialog = page.get_by_role("dialog", name="Hook ci")
    expect(dialog.get_by_label("Events")).to_have_value("task.completed")
    queue.set_hook("ci", receiver.url, events="dag.failed")
    dialog.get_by_label("Events").fill("task.completed, dag.completed")
    dialog.get_by_label("Address").fill(f"{receiver.url}/v2")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("status")).to_contain_text(f"It now says: {receiver.url}, dag.failed")
    shot(page, "hooks-dialog")
    dialog.get_by_role("button", name="Replace with mine").click()
    expect(row).to_contain_text(f"{receiver.url}/v2")
    expect(row).to_contain_text("task.completed, dag.completed")
    page.get_by_role("button", name="Test ci").click()
    expect(deliveries.get_by_role("row").filter(has_text="delivered")).to_have_count(3, timeout=60_000)
    assert receiver.paths[-1] == "/dibs/v2"

    told = len(receiver.came)
    more(page, "ci", "Replay…")
    dialog = page.get_by_role("dialog", name="Replay to ci")
    dialog.get_by_label("After event").fill("0")
    dialog.get_by_role("button", name="Replay").click()
    expect(deliveries.get_by_role("row").filter(has_text="task.completed")).to_have_count(2, timeout=60_000)
    assert len(receiver.came) > told

    more(page, "ci", "New secret…")
    page.get_by_role("dialog").get_by_role("button", name="Make it").click()
    assert shown_once(page, "ci") != secret
    expect(row).to_contain_text("the old secret signs too")
    page.get_by_role("button", name="Pause ci").click()
    expect(row).to_contain_text("paused")
    expect(page.get_by_text("Nothing more is sent to ci.")).to_be_visible()
    assert queue.get_hook("ci").status == "paused"
    page.get_by_role("button", name="Resume ci").click()
    expect(row).to_contain_text("active")
    remove(page, "ci")
    expect(row).to_have_count(0)


def test_a_viewer_sees_schedules_and_triggers_and_changes_nothing(server: Server, viewer_page: Page) -> None:
    queue = server.queue
    queue.add_schedule("nightly", cron="0 3 * * *", task={"type": "audit"}, replace=True)
    queue.add_trigger("seen", "event", events=["dag.failed"], task={"type": "fix"}, replace=True)
    for path, kind, name in (("/schedules", "schedule", "nightly"), ("/triggers", "trigger", "seen")):
        viewer_page.goto(path)
        expect(row_of(viewer_page, kind, name)).to_be_visible()
        buttons = viewer_page.locator("#content").get_by_role("button", name=re.compile("Add|Pause|Resume|Test|More"))
        expect(buttons).to_have_count(0)
    viewer_page.goto("/hooks")
    expect(viewer_page.get_by_text("Hooks are for admins")).to_be_visible()
    headers = {"Origin": server.url}
    assert viewer_page.request.post("/v1/schedules/nightly/pause", headers=headers).status == 403
    assert viewer_page.request.delete("/v1/triggers/seen", headers=headers).status == 403
    assert viewer_page.request.get("/v1/hooks").status == 403


def test_hostile_words_stay_words(server: Server, page: Page) -> None:
    queue = server.queue
    for number, each in enumerate(HOSTILE):
        text = each.replace("\r", "").strip()[:200]
        plain = text.replace("{{", "{ {")
        queue.add_schedule(
            f"evil-{number}", every="1d", task={"type": plain[:60], "title": plain, "payload": {plain: plain}}
        )
        queue.add_trigger(
            f"evil-{number}",
            "event",
            events=["dag.failed"],
            where={"event.reason": text},
            task={"type": "fix", "title": plain, "payload": {plain: plain}},
        )
        queue.add_trigger(f"files-{number}", "files", paths=[f"/srv/{plain[:80]}"], task={"type": "fix"})
        queue.add_hook(text[:100] or "-", "https://example.org/a", task=text[:100], agent=text[:100], source=text[:100])
    for path in ("/schedules", "/triggers", "/hooks"):
        page.goto(path)
        expect(page.locator("#content li").nth(len(HOSTILE) - 1)).to_be_visible()
        for button in page.get_by_role("button", name=re.compile("^makes")).all()[:4]:
            button.click()
        assert_harmless(page)
    page.set_viewport_size({"width": 380, "height": 780})
    assert_harmless(page)
    more(page, HOSTILE[1], "Edit…")
    expect(page.get_by_role("dialog", name=f"Hook {HOSTILE[1]}")).to_be_visible()
    assert_harmless(page)
    page.keyboard.press("Escape")
    remove(page, HOSTILE[1])
    expect(page.get_by_text(f"{HOSTILE[1]} was removed.")).to_be_visible()
    assert_harmless(page)
    for number in range(len(HOSTILE)):
        queue.remove_schedule(f"evil-{number}")
        queue.remove_trigger(f"evil-{number}")
        queue.remove_trigger(f"files-{number}")
    for hook in queue.hooks():
        queue.remove_hook(hook.name)


def test_what_a_webhook_sends_stays_text(server: Server, page: Page) -> None:
    made = server.queue.add_trigger(
        "inbound",
        "webhook",
        scheme="github",
        task={"type": "hostile", "title": "{{event.data.title}}", "payload": {"all": "{{event.data}}"}},
    )
    [secret] = made.secrets
    for text in HOSTILE:
        body = json.dumps({"title": text, text[:100]: [text]}).encode()
        signature = hmac.new(secret.encode(), body, "sha256").hexdigest()
        sent = page.request.post(
            f"{server.url}/in/inbound",
            data=body,
            headers={
                "content-type": "application/json",
                "x-github-event": "issues",
                "x-github-delivery": text.encode().hex()[:40],
                "x-hub-signature-256": f"sha256={signature}",
            },
        )
        assert sent.ok, sent.text()
    page.goto("/triggers")
    expect(row_of(page, "trigger", "inbound")).to_contain_text(f"{len(HOSTILE)} made", timeout=60_000)
    page.goto("/tasks?q=type:hostile")
    expect(page.locator("tr[data-task]")).to_have_count(len(HOSTILE))
    assert_harmless(page)
    page.locator("tr[data-task]").filter(has_text="<img").get_by_text("<img").click()
    expect(page.get_by_role("tabpanel", name="Payload")).to_contain_text("<img")
    assert_harmless(page)
    server.queue.remove_trigger("inbound")


def test_they_are_fit_to_be_seen(server: Server, open_page: Callable[..., Page], receiver: Receiver) -> None:
    queue = server.queue
    digest = {"title": "Digest", "tasks": [{"ref": "a", "type": "gather"}, {"type": "write", "after": ["a"]}]}
    queue.add_schedule("digest", every="6h", overlap="skip", jitter="5m", dag=digest, replace=True)
    queue.add_schedule("paused-one", cron="0 3 * * *", task={"type": "audit"}, paused=True, replace=True)
    queue.add_trigger("refactor", "friction", type="auth", failure_rate=0.4, window="1d", task={"type": "refactor"})
    queue.add_trigger("reread", "files", paths=["/srv/docs/**/*.md"], task={"type": "index"})
    queue.add_hook("chat", "https://hooks.slack.com/services/x", kind="slack")
    queue.add_hook("ci-2", receiver.url, events=["task.completed", "dag.failed"])
    for path, kind, name in (
        ("/schedules", "schedule", "digest"),
        ("/triggers", "trigger", "reread"),
        ("/hooks", "hook", "ci-2"),
    ):
        looked_at(open_page, path, path[1:], partial(shows, kind=kind, name=name))
