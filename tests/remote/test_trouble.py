"""What people are told when a server is not there, is something else, or does not want them: one sentence each."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.cli import main
from dibs.rules import repeating
from tests.remote.odd import answer, odd, saying
from tests.servers.ports import nobody_at

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from tests.remote.odd import Odd


def blocking(url: str) -> Any:
    with dibs.connect_sync(url, token="dibs_x") as queue:
        return queue.stats()


def looping(url: str) -> Any:
    async def ask() -> Any:
        async with dibs.connect(url, token="dibs_x") as queue:
            return await queue.stats()

    return asyncio.run(ask())


@pytest.fixture(params=[blocking, looping], ids=["blocking", "looping"])
def ask(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    """Asks the server at a URL for something, in both ways."""
    chosen: Callable[[str], Any] = request.param
    return chosen


def test_nobody_is_there(ask: Callable[[str], Any]) -> None:
    with nobody_at() as port, pytest.raises(dibs.Unavailable, match="is not there: start it with `dibs up`"):
        ask(f"http://127.0.0.1:{port}")


def test_the_host_is_unknown(ask: Callable[[str], Any]) -> None:
    with pytest.raises(dibs.Unavailable, match=r"host name no-such-host\.invalid is unknown"):
        ask("http://no-such-host.invalid:3427")


def test_something_else_answers(ask: Callable[[str], Any]) -> None:
    with (
        saying(answer("200 OK", b"<html>hello</html>", content_type="text/html")) as server,
        pytest.raises(dibs.Unavailable, match="is no dibs server"),
    ):
        ask(server.url)
    assert len(server.requests) == 1


def test_something_sends_elsewhere(ask: Callable[[str], Any]) -> None:
    with (
        saying(answer("301 Moved Permanently", location="https://elsewhere.example")) as server,
        pytest.raises(dibs.Unavailable, match=r"https://elsewhere\.example"),
    ):
        ask(server.url)


def test_what_does_not_speak_http(ask: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeating, "PATIENCE_S", 0.3)
    with saying(b"220 mail.example ESMTP\r\n") as server, pytest.raises(dibs.Unavailable, match="does not answer"):
        ask(server.url)


def test_a_newer_server_says_that_the_client_is_too_old(ask: Callable[[str], Any]) -> None:
    with (
        saying(answer("200 OK", b"{}", dibs_api="2")) as server,
        pytest.raises(dibs.Unavailable, match=r"version 2 of the interface.*pip install --upgrade dibs"),
    ):
        ask(server.url)


def test_an_older_server_does_not_know_the_route(ask: Callable[[str], Any]) -> None:
    problem = b'{"type":"","title":"","status":404,"detail":"nothing at /v1/stats","code":"not_found","field":"path"}'
    with (
        saying(answer("404 Not Found", problem, dibs_api="1")) as server,
        pytest.raises(dibs.Unavailable, match="too old"),
    ):
        ask(server.url)


@pytest.mark.parametrize("path", ["/v1", "/dashboard"])
def test_a_path_too_much_is_not_called_an_old_server(ask: Callable[[str], Any], path: str) -> None:
    problem = b'{"type":"","title":"","status":404,"detail":"nothing at /v1/v1","code":"not_found","field":"path"}'
    with (
        saying(answer("404 Not Found", problem, dibs_api="1")) as server,
        pytest.raises(dibs.Unavailable, match=f"leave out {path} in the URL"),
    ):
        ask(server.url + path)


def test_an_answer_that_cannot_be_read(ask: Callable[[str], Any]) -> None:
    with (
        saying(answer("200 OK", b'{"by_status": 7}', dibs_api="1")) as server,
        pytest.raises(dibs.Unavailable, match="cannot read: use the same version"),
    ):
        ask(server.url)


def test_a_proxy_whose_server_is_away_is_asked_for_a_while(
    ask: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("dibs.remote.server.time", SimpleNamespace(monotonic=lambda: now, time=time.time))

    def behave(server: Odd, connection: socket.socket, _: bytes) -> None:
        nonlocal now
        if len(server.requests) == 3:
            now += repeating.PATIENCE_S
        connection.sendall(answer("504 Gateway Timeout", b"no"))

    with odd(behave) as server:
        with pytest.raises(dibs.Unavailable, match="is away, says what stands in front of it"):
            ask(server.url)
        assert len(server.requests) == 3


def test_denied_is_one_sentence(ask: Callable[[str], Any]) -> None:
    problem = b'{"type":"","title":"","status":401,"detail":"This token is unknown here.","code":"unknown_token"}'
    with (
        saying(answer("401 Unauthorized", problem, dibs_api="1")) as server,
        pytest.raises(dibs.Denied, match=r"^This token is unknown here\.$") as caught,
    ):
        ask(server.url)
    assert caught.value.code == "unknown_token"


def test_the_shell_tells_them_apart_by_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    problem = b'{"type":"","title":"","status":403,"detail":"stats is not for you.","code":"denied"}'
    with saying(answer("403 Forbidden", problem, dibs_api="1")) as server:
        assert main(["stats", "--url", server.url]) == 7
    assert capsys.readouterr().err == "dibs: stats is not for you.\n"
    with nobody_at() as port:
        assert main(["stats", "--url", f"http://127.0.0.1:{port}"]) == 6
    assert "is not there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://", "names no host"),
        ("http://user:dibs_x@host", "not part of the URL"),
        ("http://host:port", "is not a URL"),
        ("http://host?token=x", "no query"),
        ("http://ho st", "characters"),
    ],
)
def test_a_url_that_makes_no_sense(url: str, told: str) -> None:
    with pytest.raises(dibs.Invalid, match=told) as caught:
        dibs.connect_sync(url)
    assert caught.value.field == "url"


def test_what_is_said_where_the_server_runs_is_refused_here() -> None:
    with pytest.raises(dibs.Invalid, match="where the server runs") as caught:
        dibs.connect_sync("http://host", retention="1d")
    assert caught.value.field == "retention"


def test_a_token_is_for_servers() -> None:
    with pytest.raises(dibs.Invalid, match="for a server") as caught:
        dibs.connect_sync("memory:", token="dibs_x")
    assert caught.value.field == "token"


def test_without_aiohttp_an_event_loop_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    from dibs.remote import looping as line

    found = importlib.util.find_spec
    monkeypatch.setattr(line, "find_spec", lambda name: None if name == "aiohttp" else found(name))

    async def connect() -> None:
        await dibs.connect("http://host")

    with pytest.raises(dibs.Unavailable, match=r"pip install 'dibs\[http\]'"):
        asyncio.run(connect())
