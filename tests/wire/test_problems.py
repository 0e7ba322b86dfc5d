"""An error that goes over the wire is the same error on the other end."""

from __future__ import annotations

import msgspec
import pytest

from dibs import errors
from dibs.errors import Conflict, Denied, DibsError, Invalid, KeyReused, LeaseLost, Moved, NotFound, Unavailable
from dibs.wire.problems import problem_of, raised_from, refusal_of, status_of, unrefused

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, DibsError) and kind is not Moved
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_comes_back_as_what_it_was(kind: type[DibsError]) -> None:
    error = kind("it did not work; do something else.", field="fence")
    body = msgspec.json.encode(problem_of(error))
    again = raised_from(status_of(error), body)
    assert type(again) is kind
    assert (again.message, again.code, again.field) == (error.message, error.code, "fence")


@pytest.mark.parametrize("kind", KINDS)
def test_a_refused_item_comes_back_as_what_it_was(kind: type[DibsError]) -> None:
    error = kind("not this one.", code="odd", field=None)
    again = unrefused(msgspec.json.decode(msgspec.json.encode(refusal_of(error))))
    assert type(again) is kind
    assert again.code == "odd"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Invalid("x"), 422),
        (Invalid("x", code="not_json"), 400),
        (Invalid("x", code="too_large"), 413),
        (NotFound("x"), 404),
        (Conflict("x"), 409),
        (LeaseLost("x"), 409),
        (KeyReused("x"), 409),
        (Conflict("x", code="changed_meanwhile"), 412),
        (Denied("x"), 403),
        (Denied("x", code="no_token"), 401),
        (Unavailable("x"), 503),
        (Moved("x", url="sqlite:y"), 503),
        (DibsError("x"), 500),
    ],
)
def test_the_status_says_what_kind_of_error_it_is(error: DibsError, status: int) -> None:
    assert status_of(error) == status


def test_an_error_of_a_class_that_is_not_ours_comes_back_as_the_nearest() -> None:
    class Busy(Unavailable):
        code = "too_many_requests"

    again = raised_from(429, msgspec.json.encode(problem_of(Busy("wait."))))
    assert type(again) is Unavailable
    assert again.code == "too_many_requests"


def test_a_problem_of_a_newer_server_has_the_kind_that_its_status_says() -> None:
    body = b'{"type":"x","title":"x","status":409,"detail":"no.","code":"brand_new","error":"BrandNew","more":1}'
    again = raised_from(409, body)
    assert type(again) is Conflict
    assert again.code == "brand_new"


@pytest.mark.parametrize(("status", "kind"), [(502, Unavailable), (404, NotFound), (401, Denied), (418, Invalid)])
def test_an_answer_without_a_problem_is_told_by_its_status(status: int, kind: type[DibsError]) -> None:
    assert type(raised_from(status, b"<html>")) is kind


@pytest.mark.parametrize("item", [None, 3, {}, {"code": "x"}, {"message": "x"}, ["code", "message"]])
def test_what_is_no_refusal_is_not_taken_for_one(item: object) -> None:
    assert unrefused(item) is None
