"""A request is let in if it was meant for this server, and no page of another site sent it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dibs.server.origins import Origins, hosts_of


def ask(headers: list[tuple[str, str]], *, path: str = "/v1/stats", hosts: tuple[str, ...] | None = None) -> Any:
    """What is answered: `let in`, or the problem."""
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        sent.append("let in")

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Any = {
        "type": "http",
        "path": path,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
    }
    guard: Any = Origins(app) if hosts is None else Origins(app, hosts)
    asyncio.run(guard(scope, None, send))
    if sent == ["let in"]:
        return "let in"
    start, body = sent
    problem = json.loads(body["body"])
    assert start["status"] == problem["status"]
    assert (b"access-control-allow-origin") not in dict(start["headers"])
    return problem["status"], problem["code"], problem["field"]


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:3427", "127.0.0.1:3427", "[::1]:3427", "[::1]", "LocalHost:1"]
)
def test_this_machine_goes_by_its_loopback_names(host: str) -> None:
    assert ask([("host", host)]) == "let in"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:3427",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "localhost@evil.example",
        "localhost:3427:1",
        "evil.example#localhost",
        "",
        "[::2]:3427",
        "192.168.0.7:3427",
    ],
)
def test_any_other_name_is_refused(host: str) -> None:
    assert ask([("host", host)]) == (421, "wrong_host", "Host")


def test_no_host_and_two_hosts_are_refused() -> None:
    assert ask([]) == (421, "wrong_host", "Host")
    assert ask([("host", "localhost"), ("host", "evil.example")]) == (421, "wrong_host", "Host")
    assert ask([("host", "localhost"), ("host", "localhost")]) == (421, "wrong_host", "Host")


def test_names_that_the_operator_allows_are_let_in() -> None:
    hosts = hosts_of("10.0.0.5", ["queue.example.com", "*.svc.cluster.local"])
    for host in ("queue.example.com", "Queue.Example.com:443", "a.svc.cluster.local", "10.0.0.5:3427", "localhost"):
        assert ask([("host", host)], hosts=hosts) == "let in"
    for host in ("example.com", "evilqueue.example.com", "svc.cluster.local", "xsvc.cluster.local", "10.0.0.6"):
        assert ask([("host", host)], hosts=hosts) == (421, "wrong_host", "Host")
    assert ask([("host", "anything")], hosts=hosts_of("0.0.0.0", ["*"])) == "let in"
    assert "0.0.0.0" not in hosts_of("0.0.0.0")
    assert "[fd00::1]" in hosts_of("fd00::1")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://localhost",
        "http://localhost:9999",
        "null",
        "http://[::1",
        "x",
        "http://localhost@x",
    ],
)
def test_a_page_of_another_site_is_refused(origin: str) -> None:
    assert ask([("host", "localhost:3427"), ("origin", origin)]) == (403, "wrong_origin", "Origin")


def test_a_page_of_this_very_server_is_let_in() -> None:
    assert ask([("host", "localhost:3427"), ("origin", "http://localhost:3427")]) == "let in"
    two = [("host", "localhost:3427"), ("origin", "http://localhost:3427"), ("origin", "http://evil.example")]
    assert ask(two) == (403, "wrong_origin", "Origin")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_may_use_any_name(path: str) -> None:
    assert ask([("host", "10.1.2.3:8080")], path=path) == "let in"


def test_what_is_not_http_is_passed_on() -> None:
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    guard: Any = Origins(app)
    asyncio.run(guard({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]
