"""Browsers come in by a cookie: its flags, who may send it, and links that work once; as bytes on the wire."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.a2a import card
from dibs.errors import Denied
from dibs.rules import logins as rules
from dibs.server import door, logins, pages
from dibs.server.app import ROUTERS
from dibs.server.routes import health, login, metrics
from dibs.server.routes import pages as routes
from tests.server.process import Up, until, up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.sync import SyncQueue

OWN = {"Sec_Fetch_Site": "same-origin"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("logins")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Up]:
    with up(home, f"sqlite:{home}/work.db") as found:
        yield found


@pytest.fixture(scope="module")
def queue(server: Up, home: Path) -> Iterator[SyncQueue]:
    with dibs.connect_sync(f"sqlite:{home}/work.db") as found:
        yield found


def cookie(server: Up, secret: str | None = None) -> str:
    return f"dibs_{server.port}={secret or server.token}"


def test_a_token_becomes_a_cookie_that_no_script_reads_and_no_other_site_sends(server: Up) -> None:
    answer = server.ask("POST", "/login", {"token": server.token}, **OWN)
    assert answer.status == 200
    assert answer.json == {"name": "admin", "role": "admin", "project": "default"}
    assert answer.headers["cache-control"] == "no-store"
    pair, *flags = answer.headers["set-cookie"].split("; ")
    assert pair == cookie(server)
    assert {flag.lower() for flag in flags} == {"max-age=2592000", "path=/", "httponly", "samesite=strict"}
    assert server.ask("GET", "/v1/about", Cookie=cookie(server)).json["name"] == "admin"
    assert server.ask("POST", "/v1/tasks", {"type": "x"}, Cookie=cookie(server), **OWN).status == 201


def test_over_https_the_cookie_is_for_this_host_alone(server: Up) -> None:
    for headers in ({"X_Forwarded_Proto": "https"}, {"Origin": f"https://127.0.0.1:{server.port}"}):
        answer = server.ask("POST", "/login", {"token": server.token}, **OWN, **headers)
        assert answer.headers["set-cookie"].startswith(f"__Host-dibs_{server.port}=")
        assert "; Secure" in answer.headers["set-cookie"]
        # Another host of the same domain could have set the plain one.
        assert server.ask("GET", "/v1/about", Cookie=f"__Host-{cookie(server)}", **headers).status == 200
        assert server.ask("GET", "/v1/about", Cookie=cookie(server), **headers).status == 401
    assert server.ask("GET", "/v1/about", Cookie=f"a=b; __Host-{cookie(server)}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec_Fetch_Site": "cross-site", "Origin": "own"},
    ],
    ids=str,
)
def test_what_another_page_made_a_browser_send_changes_nothing(
    server: Up, queue: SyncQueue, headers: dict[str, str]
) -> None:
    sent = {name: server.url if value == "own" else value for name, value in headers.items()}
    before = queue.stats().by_status
    for method, path, body in (
        ("POST", "/v1/tasks", {"type": "forged"}),
        ("POST", "/v1/claims", {"agent": "a"}),
        ("PUT", "/v1/slots", {"type": "x", "slots": 1}),
        ("DELETE", "/v1/tokens/admin", None),
        ("POST", "/v1/logins", {}),
        ("POST", "/logout", None),
        ("POST", "/login", {"token": server.token}),
    ):
        answer = server.ask(method, path, body, Cookie=cookie(server), **sent)
        assert (answer.status, answer.json["code"]) == (403, "wrong_origin"), (method, path, answer.body)
        assert "set-cookie" not in answer.headers
    assert queue.stats().by_status == before


def test_reading_takes_no_proof_but_a_page_of_another_site_is_refused(server: Up) -> None:
    assert server.ask("GET", "/v1/stats", Cookie=cookie(server)).status == 200
    assert server.ask("GET", "/v1/stats", Cookie=cookie(server), Sec_Fetch_Site="none").status == 200
    for site in ("cross-site", "same-site"):
        answer = server.ask("GET", "/v1/stats", Cookie=cookie(server), Sec_Fetch_Site=site)
        assert (answer.status, answer.json["code"]) == (403, "wrong_origin")


def test_whoever_sends_a_token_need_not_prove_where_it_comes_from(server: Up) -> None:
    assert server.ask("POST", "/v1/tasks", {"type": "y"}, token=server.token).status == 201
    # The token counts, not the cookie beside it; and a wrong one is not made up for by it.
    assert server.ask("POST", "/v1/tasks", {"type": "y"}, token=server.token, Cookie="dibs_1=x").status == 201
    assert server.ask("GET", "/v1/stats", token="dibs_wrong", Cookie=cookie(server)).status == 401


@pytest.mark.parametrize(
    "sent", ["", "dibs_{port}=", "dibs_{port}=x", "dibs={token}", "dibs_{port}={token}; dibs_{port}=x"]
)
def test_a_cookie_that_is_not_ours_lets_nobody_in(server: Up, sent: str) -> None:
    assert server.ask("GET", "/v1/stats", Cookie=sent.format(port=server.port, token=server.token)).status == 401


@pytest.mark.parametrize(
    "body", [{}, {"token": None}, {"token": 5}, {"token": "dibs_no"}, {"once": "no"}, {"once": None}]
)
def test_who_has_no_token_is_not_let_in(server: Up, body: dict[str, Any]) -> None:
    answer = server.ask("POST", "/login", body, **OWN)
    assert (answer.status, answer.json["code"]) == (403, "unknown_login")
    assert "set-cookie" not in answer.headers


def test_a_login_is_json_and_short(server: Up) -> None:
    form = server.ask("POST", "/login", None, **OWN, Content_Type="application/x-www-form-urlencoded")
    assert (form.status, form.json["code"]) == (415, "wrong_media_type")
    assert server.ask("POST", "/login", {"token": "x" * 10_000}, **OWN).status == 413
    assert server.ask("POST", "/login", [], **OWN).status == 422


def test_a_link_works_once_and_what_it_gave_ends_with_the_logout(server: Up, queue: SyncQueue) -> None:
    login = queue.create_login("guest", role="viewer", lasts="1h")
    # Looking at the link, as previews do, uses nothing up.
    assert server.ask("GET", f"/login?once={login.code}").status in (200, 501)
    answer = server.ask("POST", "/login", {"once": login.code}, **OWN)
    assert answer.json == {"name": "guest", "role": "viewer", "project": "default"}
    held = answer.headers["set-cookie"].split(";")[0]
    assert server.ask("POST", "/v1/tasks", {"type": "x"}, Cookie=held, **OWN).status == 403
    again = server.ask("POST", "/login", {"once": login.code}, **OWN)
    assert (again.status, again.json["code"]) == (403, "unknown_login")
    [token] = [token for token in queue.tokens() if token.name == "guest"]
    assert token.expires_at is not None
    left = server.ask("POST", "/logout", None, Cookie=held, **OWN)
    assert left.status == 204
    assert "Max-Age=0" in left.headers["set-cookie"]
    assert not [token for token in queue.tokens() if token.name == "guest"]
    # A token that somebody was given outlives the logout.
    assert server.ask("POST", "/logout", None, Cookie=cookie(server), **OWN).status == 204
    assert server.ask("GET", "/v1/stats", token=server.token).status == 200
    # It is written beside the requests.
    wanted = {("log_in", "done"), ("log_out", "done"), ("log_in", "unknown_login"), ("create_login", "done")}
    until(lambda: wanted <= {(entry.act, entry.outcome) for entry in queue.audit(limit=1000)})


def test_the_first_start_prints_a_link_and_the_code_is_kept_nowhere(server: Up, home: Path) -> None:
    if not pages.is_built():
        assert "login" not in server.started
        return
    link = server.started["login"]
    assert link.startswith(f"{server.url}/login?once=")
    code = link.partition("=")[2]
    assert code not in server.log
    assert all(code.encode() not in path.read_bytes() for path in home.glob("work.db*"))
    assert server.ask("POST", "/login", {"once": code}, **OWN).json["role"] == "admin"


def test_of_many_that_follow_a_link_at_once_one_comes_in_and_an_old_link_lets_nobody_in() -> None:
    async def scene() -> None:
        async with dibs.connect("memory:one") as queue, dibs.connect("memory:one") as other:
            login = await queue.create_login()
            found = await asyncio.gather(
                *(logins.redeem(each, login.code) for each in (queue, other) * 5), return_exceptions=True
            )
            refused = [error for error in found if isinstance(error, Denied)]
            assert (len(found), len(refused)) == (10, 9)
            assert len(await queue.tokens()) == 1
            old = await queue.create_login(valid=1)
            now = queue.store.now()
            queue.store.now = lambda: now + 1_000_001  # type: ignore[method-assign]
            with pytest.raises(Denied):
                await logins.redeem(queue, old.code)
            assert await queue.store.documents("", rules.KIND) == []

    asyncio.run(scene())


def test_old_links_are_forgotten_and_there_are_only_so_many() -> None:
    async def scene() -> None:
        async with dibs.connect("memory:") as queue:
            for _ in range(3):
                await queue.create_login(valid=1)
            now = queue.store.now()
            queue.store.now = lambda: now + 2_000_000  # type: ignore[method-assign]
            await queue.create_login()
            assert len(await queue.store.documents("", rules.KIND)) == 1

    asyncio.run(scene())


def test_pages_are_shown_in_no_frame_and_run_no_script_of_others(server: Up) -> None:
    for path in ("/", "/tasks", "/tasks/task_x", "/login", "/dead-letters"):
        answer = server.ask("GET", path)
        assert answer.status == (200 if pages.is_built() else 501)
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "set-cookie" not in answer.headers
    assert server.ask("GET", "/no-such-screen").status == 404
    assert server.ask("GET", "/assets/../serving.py").status == 404
    assert server.ask("GET", "/assets/%2e%2e%2fserving.py").status == 404


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


def test_a_browser_that_goes_astray_gets_the_page_which_says_so(server: Up) -> None:
    for path in ("/nope", "/tasks/task_x/more", "/taks?q=status:ready", "/v2/tasks", "/%00<b>"):
        answer = server.ask("GET", path, Accept=BROWSER)
        assert answer.status == 404, path
        if not pages.is_built():
            assert answer.json["code"] == "not_found"
            continue
        assert answer.headers["content-type"] == "text/html; charset=utf-8", path
        assert answer.body == server.ask("GET", "/").body
        assert answer.headers["content-security-policy"] == pages.POLICY
        assert answer.headers["cache-control"] == "no-store"
        assert "etag" not in answer.headers


def test_programs_that_go_astray_are_told_so_in_json(server: Up) -> None:
    for accept in ("*/*", "application/json", "application/json, text/html;q=0.5", "image/*", "", "not a type"):
        answer = server.ask("GET", "/nope", Accept=accept)
        assert (answer.status, answer.json["code"]) == (404, "not_found"), accept
    assert server.ask("GET", "/nope").json["field"] == "path"
    # Nor does a browser get the page of what is not for eyes, or where it sends something.
    for path in (
        "/v1/nope",
        "//v1/nope",
        "/mcp/nope",
        "/a2a/nope",
        "/metrics/nope",
        "/healthz/nope",
        "/assets/nope.js",
    ):
        answer = server.ask("GET", path, Accept=BROWSER)
        assert (answer.status, answer.json["code"]) == (404, "not_found"), path
    answer = server.ask("POST", "/nope", {}, Accept=BROWSER, token=server.token)
    assert (answer.status, answer.json["code"]) == (404, "not_found")


def test_what_is_not_for_eyes_is_all_but_the_screens() -> None:
    routers = [*ROUTERS, health.router, login.router, metrics.router, routes.router]
    begun = {route.path.split("/")[1] for router in routers for route in router.routes}
    screens = {path.split("/")[1] for path in (*routes.SCREENS, "/login", "/icon.svg")}
    others = {path.split("/")[1] for path in (door.PATH, card.PATH, card.WELL_KNOWN)}
    assert (begun - screens) | others == routes.NOT_FOR_EYES


def test_the_screens_are_those_of_the_dashboard() -> None:
    source = (Path(__file__).parents[2] / "web" / "src" / "app.tsx").read_text(encoding="utf-8")
    named = {path.replace("$id", "{id:str}") for path in re.findall(r'screen\("([^"]+)"', source)}
    assert named == {*routes.SCREENS, "/login"}


def test_without_built_files_it_says_how_to_get_them(tmp_path: Path) -> None:
    files = pages.Files(str(tmp_path))
    assert files.find("index.html") is None
    assert "make web" in pages.MISSING
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "a-1.js").write_text("1;" * 5_000)
    (tmp_path / "secret.py").write_text("no")
    (tmp_path / "index.html").write_text("<!doctype html>")
    found = files.find("assets/a-1.js")
    assert found is not None
    assert found.keep == pages.FOR_GOOD
    assert len(found.gzipped()) < 200
    assert files.find("secret.py") is None
    assert files.find("assets/../index.html") is None
    page = files.find("index.html")
    assert page is not None
    assert page.keep == pages.EVERY_TIME


def test_artifacts_are_downloads_in_a_sandbox(server: Up, queue: SyncQueue) -> None:
    queue.add("draws")
    [claim] = queue.claim("ada", types=["draws"])
    queue.put_artifact(claim, "page.html", b"<script>alert(1)</script>", media_type="text/html")
    found = server.ask("GET", f"/v1/artifacts?ref=task:{claim.task.id}:artifact:page.html", Cookie=cookie(server))
    assert found.body == b"<script>alert(1)</script>"
    assert found.headers["content-disposition"] == "attachment"
    assert found.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert found.headers["content-type"] == "application/octet-stream"
