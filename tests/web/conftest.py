"""The dashboard in a real browser, on a real server and store.

`server`: `dibs up` on a SQLite file of its own, one for the tests of a module, and a queue on the same file. `page`: a
new window, logged in as admin; `viewer_page`: one that may only look. Windows of a module share what the browser has
loaded and compiled, which takes it most of a second; what a test stored there is removed. Whatever a page says to its
console, or tries that its policy refuses, fails the test.

What a page shows for a few seconds stays for long here: a machine that stands still must not miss it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import dibs
from dibs.server.pages import is_built
from tests.server.process import Up, up
from tests.web import chromium

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, BrowserContext, Dialog, Locator, Page

    from dibs.sync import SyncQueue

ROOT = Path(__file__).parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
WIDE, NARROW = {"width": 1280, "height": 860}, {"width": 380, "height": 780}
PATIENCE_MS = 60_000
HELD_S = 3600
"""The lease of what is held while somebody looks."""
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def _passing() -> list[int]:
    """After how many milliseconds the page forgets: what it said in a corner, and the first of two keys."""
    found = []
    for file, name, times in (("Toasts.tsx", "LASTS_MS", (1, 2)), ("keys.ts", "PAUSE_MS", (1,))):
        [written] = re.findall(
            rf"^const {name} = ([\d_]+);$", (ROOT / "web/src/ui" / file).read_text("utf-8"), re.MULTILINE
        )
        found += [int(written) * each for each in times]
    return found


LASTING = """passing => {
    const usual = window.setTimeout;
    window.setTimeout = (run, ms, ...rest) => usual(run, passing.includes(ms) ? 100 * ms : ms, ...rest);
}"""
"""Timers of exactly these lengths take a hundred times as long."""


class Server(NamedTuple):
    """A server that runs: its address, its queue (on the same store, beside it), and the secrets of four roles."""

    url: str
    queue: SyncQueue
    tokens: dict[str, str]
    up: Up

    @property
    def port(self) -> int:
        return self.up.port


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a process."""
    path = chromium.find()
    if path is None:
        pytest.skip("no Chromium here: install it (apt-get install chromium), or name one in $DIBS_CHROMIUM")
    if not is_built() or not AXE.exists():
        pytest.skip("the dashboard is not built: make web")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=path,
            # Windows of a site share a process, and what it has compiled.
            args=["--no-sandbox", "--disable-dev-shm-usage", "--process-per-site"],
            timeout=2 * PATIENCE_MS,
        )
        yield found
        found.close()


@pytest.fixture(scope="module")
def store_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where the tests of a module keep their tasks; a module that wants another store overrides it."""
    return f"sqlite:{tmp_path_factory.mktemp('web')}/work.db"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, store_url: str) -> Iterator[Server]:
    with up(tmp_path_factory.mktemp("home"), store_url) as process, dibs.connect_sync(store_url) as queue:
        tokens = {
            role: queue.create_token(role, role=role).secret for role in ("admin", "viewer", "orchestrator", "agent")
        }
        yield Server(process.url, queue, tokens, process)


class Windows:
    """Windows on one server: each role has a browser context of its own, which lasts as long as the server."""

    def __init__(self, browser: Browser, server: Server) -> None:
        self._browser, self._server = browser, server
        self._kept: dict[str | None, tuple[BrowserContext, Page]] = {}

    def open(self, role: str | None, size: Any, color_scheme: Any) -> Page:
        """A new window; who logged in is as new."""
        if role not in self._kept:
            context = self._browser.new_context(base_url=self._server.url)
            context.set_default_timeout(PATIENCE_MS)
            context.add_init_script(f"({LASTING})({_passing()})")
            # As long as a page of the site is open, the process that shows it stays.
            stays = context.new_page()
            stays.goto("/healthz")
            self._kept[role] = context, stays
        context, _ = self._kept[role]
        context.clear_cookies()
        if role is not None:
            context.add_cookies([cookie_of(self._server, self._server.tokens[role])])
        page = context.new_page()
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=color_scheme, reduced_motion="reduce")
        return page

    def tidy(self) -> None:
        """Close all windows and remove what they stored."""
        for context, stays in self._kept.values():
            for page in context.pages:
                if page is not stays:
                    page.close()
            context.clear_cookies()
            context.clear_permissions()
            stays.evaluate("localStorage.clear()")

    def close(self, role: str | None) -> None:
        """Forget a role's context: the next window begins with nothing."""
        self._kept.pop(role)[0].close()


@pytest.fixture(scope="module")
def windows(browser: Browser, server: Server) -> Iterator[Windows]:
    found = Windows(browser, server)
    yield found
    for role in [*found._kept]:
        found.close(role)


@pytest.fixture
def open_page(windows: Windows, server: Server) -> Iterator[Callable[..., Page]]:
    """Opens windows: `open_page("viewer", dark=True, width=380)`; None: nobody is logged in. `faults_allowed`: the
    server is about to be lost, or something refused."""
    told: list[str] = []

    def open_one(
        role: str | None = "admin", *, dark: bool = False, width: int | None = None, faults_allowed: bool = False
    ) -> Page:
        size = {**(WIDE if width is None else NARROW), **({} if width is None else {"width": width})}
        page = windows.open(role, size, "dark" if dark else "light")
        faults: list[str] = [] if faults_allowed else told
        page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: _refused(dialog, faults))
        page.on(
            "request",
            lambda asked: None if asked.url.startswith((server.url, "data:")) else faults.append(f"asked {asked.url}"),
        )
        return page

    yield open_one
    windows.tidy()
    assert not told, told


def _refused(dialog: Dialog, faults: list[str]) -> None:
    faults.append(f"a dialog: {dialog.message}")
    dialog.dismiss()


def cookie_of(server: Server | Up, secret: str) -> Any:
    """What a login would have set."""
    return {
        "name": f"dibs_{server.port}",
        "value": secret,
        "domain": "127.0.0.1",
        "path": "/",
        "httpOnly": True,
        "sameSite": "Strict",
    }


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    """A window, logged in as admin."""
    return open_page("admin")


@pytest.fixture
def viewer_page(open_page: Callable[..., Page]) -> Page:
    """A window, logged in as somebody who may only look."""
    return open_page("viewer")


def assert_accessible(page: Page, *, within: str = "body") -> None:
    """WCAG 2.2 A and AA, as far as a program can tell (axe)."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    told = page.evaluate(
        """async ([within, rules]) => {
            const wanted = { runOnly: { type: "tag", values: rules }, resultTypes: ["violations"] };
            const found = await axe.run(within, wanted);
            return found.violations.map(one => `${one.id}: ${one.help}: ` + one.nodes.slice(0, 3).map(
                node => node.html.slice(0, 160) + " | " + (node.any[0]?.message ?? node.failureSummary)).join(" ;; "));
        }""",
        [within, RULES],
    )
    assert not told, "\n".join(told)


def copied(page: Page, button: Locator) -> str:
    """What a button puts on the clipboard, once it is there."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('')")
    button.click()
    page.wait_for_function("async () => await navigator.clipboard.readText() !== ''")
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def assert_fits(page: Page) -> None:
    """Nothing is wider than the window."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"the page is {wide} px wider than its window"


def shot(page: Page, name: str) -> None:
    """A picture for people to look at, where $DIBS_SCREENSHOTS says."""
    folder = os.environ.get("DIBS_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{folder}/{name}.png")


def looked_at(
    open_page: Callable[..., Page],
    path: str,
    name: str,
    ready: Callable[[Page], object],
    *,
    faults_allowed: bool = False,
) -> None:
    """A screen in light, dark and narrow: each accessible and in its window, and a picture of it. `ready` waits until
    it shows what it should."""
    for mode, options in (("light", {}), ("dark", {"dark": True}), ("narrow", {"width": 380})):
        page = open_page("admin", faults_allowed=faults_allowed, **options)
        page.goto(path)
        ready(page)
        assert_fits(page)
        assert_accessible(page)
        shot(page, f"{name}-{mode}")
        page.close()
