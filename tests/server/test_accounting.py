"""Around each request: an id, a line, a count, and the trace it belongs to."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import dibs
from dibs import tracing
from dibs.rules.exposition import text
from dibs.server.accounting import Accounting
from dibs.server.logs import REQUEST_ID
from dibs.server.metering import Meter
from tests.server.asgi import ask

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def small(scope: Any, receive: Any, send: Any) -> None:
    """An app that answers with what it knows of its request."""
    scope["path_template"] = "/v1/{id}"
    status = 404 if scope["path"] == "/missing" else 200
    trace = tracing.current()
    body = f"{REQUEST_ID.get()} {trace[0] if trace else '-'}".encode()
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def broken(scope: Any, receive: Any, send: Any) -> None:
    raise RuntimeError("broken")


def test_a_request_keeps_its_id() -> None:
    answer = asyncio.run(ask(Accounting(small, Meter()), x_request_id="a.b-c_1"))
    assert answer.headers["x-request-id"] == "a.b-c_1"
    assert answer.body == b"a.b-c_1 -"


@pytest.mark.parametrize("given", ["", "a b", "ü", "x" * 129, "a\x7f", '"quoted"'])
def test_an_id_that_could_harm_a_log_is_replaced(given: str) -> None:
    answer = asyncio.run(ask(Accounting(small, Meter()), x_request_id=given))
    assert answer.headers["x-request-id"] != given
    assert len(answer.headers["x-request-id"]) == 16


def test_requests_without_an_id_get_one_each() -> None:
    app = Accounting(small, Meter())
    ids = {asyncio.run(ask(app)).headers["x-request-id"] for _ in range(5)}
    assert len(ids) == 5


@pytest.mark.parametrize(("access", "expected"), [("all", 2), ("errors", 1), ("none", 0)])
def test_which_requests_are_logged(access: str, expected: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dibs.access")
    app = Accounting(small, Meter(), access)
    asyncio.run(ask(app, "/there"))
    asyncio.run(ask(app, "/missing", authorization="Bearer geheim"))
    assert len(caplog.records) == expected
    for record in caplog.records:
        assert "geheim" not in str(record.__dict__)


def test_a_line_says_what_was_asked_and_how_it_ended(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dibs.access")
    asyncio.run(ask(Accounting(small, Meter()), "/missing"))
    [record] = caplog.records
    assert record.getMessage() == "GET /missing 404"
    fields = record.__dict__["fields"]
    assert fields["status"] == 404
    assert fields["duration_ms"] >= 0
    assert fields["client"] == "127.0.0.1"


def test_requests_are_counted_by_route_not_by_path() -> None:
    meter = Meter()
    app = Accounting(small, meter)
    for path in ("/a", "/b", "/missing"):
        asyncio.run(ask(app, path))
    page = text(meter.families())
    assert 'dibs_http_requests_total{method="GET",route="/v1/{id}",status="200"} 2' in page
    assert 'dibs_http_requests_total{method="GET",route="/v1/{id}",status="404"} 1' in page
    assert "dibs_http_requests_in_flight 0" in page


def test_an_app_that_breaks_is_counted_as_500() -> None:
    meter = Meter()
    with pytest.raises(RuntimeError):
        asyncio.run(ask(Accounting(broken, meter)))
    assert 'status="500"} 1' in text(meter.families())
    assert meter.in_flight == 0


def test_what_a_request_adds_belongs_to_its_trace() -> None:
    async def adding(scope: Any, receive: Any, send: Any) -> None:
        async with dibs.connect("memory:") as queue:
            task = await queue.add("code")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(task.context).encode()})

    answer = asyncio.run(ask(Accounting(adding, Meter()), traceparent=PARENT, tracestate="a=1"))
    assert answer.body == str({"traceparent": PARENT, "tracestate": "a=1"}).encode()
    answer = asyncio.run(ask(Accounting(adding, Meter()), traceparent="nonsense"))
    assert answer.body == b"None"
