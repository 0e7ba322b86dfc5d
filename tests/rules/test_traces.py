"""What is a trace, and what is only text."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.rules import traces

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"


def test_a_traceparent_is_read_and_written_again() -> None:
    trace = traces.parse(PARENT)
    assert trace == traces.Trace(TRACE, SPAN, 1)
    assert trace.traceparent == PARENT


def test_only_the_flag_that_is_known_is_handed_on() -> None:
    trace = traces.parse(f"00-{TRACE}-{SPAN}-ff")
    assert trace is not None
    assert trace.traceparent == PARENT


def test_a_later_version_may_say_more() -> None:
    trace = traces.parse(f"01-{TRACE}-{SPAN}-00-more")
    assert trace == traces.Trace(TRACE, SPAN, 0)


@pytest.mark.parametrize(
    "text",
    [
        None,
        17,
        "",
        "00",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"0x-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}0-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
    ],
)
def test_what_is_no_traceparent_is_none(text: Any) -> None:
    assert traces.parse(text) is None


@pytest.mark.parametrize("text", [None, 3, "", "  ", "a=ü", "a=\n", "a" * 513])
def test_what_is_no_tracestate_is_none(text: Any) -> None:
    assert traces.parse_state(text) is None


def test_a_tracestate_is_kept_as_it_is() -> None:
    assert traces.parse_state(" vendor=1,other=2 ") == "vendor=1,other=2"


def test_a_context_gets_the_trace_unless_it_names_one() -> None:
    assert traces.with_trace(None, PARENT, None) == {"traceparent": PARENT}
    assert traces.with_trace({"goal": "x"}, PARENT, "a=1") == {"goal": "x", "traceparent": PARENT, "tracestate": "a=1"}
    assert traces.with_trace({"traceparent": "mine"}, PARENT, None) == {"traceparent": "mine"}


def test_a_context_that_is_none_is_left_for_others_to_refuse() -> None:
    assert traces.with_trace(["x"], PARENT, None) == ["x"]


def test_the_trace_of_a_context_is_found() -> None:
    assert traces.of_context({"traceparent": PARENT}) == traces.Trace(TRACE, SPAN, 1)
    assert traces.of_context({"traceparent": "nonsense"}) is None
    assert traces.of_context({}) is None
    assert traces.of_context(None) is None
