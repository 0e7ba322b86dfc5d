"""Rate limits are recognised where an error plainly tells of one, with the moment to come back."""

from __future__ import annotations

import pytest

from dibs.rules import limits

NOW = 1_794_700_800_000_000  # 2026-11-15 00:00:00 UTC


@pytest.mark.parametrize(
    "error",
    [
        "429",
        " 429. ",
        "HTTP 429",
        "HTTP/1.1 429 Too Many Requests",
        "Error code: 429 - {'error': {'type': 'rate_limit_error'}}",
        "status=429",
        '{"status_code": 429}',
        "server said [429] resource busy: status 429",
        "429 Client Error: Too Many Requests for url",
        "Rate limit reached for gpt-5 in organization org-1",
        "openai.RateLimitError: slow",
        "anthropic: rate_limit_error",
        "You have hit your rate-limit.",
        "too many requests, slow down",
        "TooManyRequests: too_many_requests",
        "Quota exceeded for quota metric 'Generate requests'",
        "You exceeded your current quota, please check your plan",
        "insufficient_quota",
        "429 RESOURCE_EXHAUSTED",
        "ThrottlingException: request was throttled",
    ],
)
def test_a_rate_limit_is_recognised(error: str) -> None:
    assert limits.recognise(error, NOW) == limits.Limit()


@pytest.mark.parametrize(
    "error",
    [
        "",
        "assertion failed",
        "processed 429 rows, then the disk was full",
        "at line 429 of main.py",
        "expected 4290 items",
        "the rate limiter of module x has a bug",
        "error 4291",
        'ValueError: no\n  File "/app/limits.py", line 3, in check_rate_limit\n    raise ValueError("no")',
        "x" * limits.MAX_SCANNED + " rate limit",
    ],
)
def test_other_errors_are_not(error: str) -> None:
    assert limits.recognise(error, NOW) is None


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Retry-After: 30", 30.0),
        ("retry-after=1.5", 1.5),
        ('{"retry_after": 12}', 12.0),
        ("retry-after-ms: 1500", 1.5),
        ("Retry-After: Sun, 15 Nov 2026 00:02:00 GMT", 120.0),
        ("Retry-After: Sat, 14 Nov 2026 00:02:00 GMT", 0.0),
        ("Please try again in 20s.", 20.0),
        ("try again in 1m30s", 90.0),
        ("Please try again in 350ms", 0.35),
        ("retry in 2 minutes", 120.0),
        ("wait for 1 hour 5 minutes", 3_900.0),
        ("retry after 6.5 seconds", 6.5),
        ("retry in 400 milliseconds", 0.4),
        ("x-ratelimit-reset-requests: 1s, x-ratelimit-reset-tokens: 6m0s", 360.0),
        ("anthropic-ratelimit-requests-reset: 2026-11-15T00:00:45Z", 45.0),
        ("anthropic-ratelimit-tokens-reset: 2026-11-15T00:00:45", 45.0),
        ("x-ratelimit-reset: 1794700860", 60.0),
        ("RateLimit-Reset: 17", 17.0),
        ("Retry-After: 5, x-ratelimit-reset: 60", 5.0),
    ],
)
def test_it_says_when_to_come_back(said: str, seconds: float) -> None:
    limit = limits.recognise(f"429 Too Many Requests: {said}", NOW)
    assert limit is not None
    assert limit.retry_after == pytest.approx(seconds)


@pytest.mark.parametrize(
    "said",
    [
        "Retry-After: soon",
        "Retry-After: Sun, 99 Nov 2026 00:02:00 GMT",
        "Retry-After: Sun, 15 Foo 2026 00:02:00 GMT",
        "try again in 5 parsecs",
        "try again in 1.2.3 s",
        "x-ratelimit-reset: tomorrow",
    ],
)
def test_what_makes_no_sense_is_nothing(said: str) -> None:
    assert limits.recognise(f"rate limit: {said}", NOW) == limits.Limit()


def test_a_response_tells_by_its_status_and_headers() -> None:
    assert limits.of_response(429, {"Retry-After": "7"}, NOW) == limits.Limit(7.0)
    assert limits.of_response(429, {"Content-Type": "text/plain"}, NOW) == limits.Limit()
    assert limits.of_response(503, {"Retry-After": "7"}, NOW) is None


def test_an_error_made_to_be_slow_to_read_is_read_quickly() -> None:
    for hostile in ("try again in " + "1a " * 2_000, "ratelimit" + "-a" * 2_000, "exceed " * 700, "9" * 4_000):
        limits.recognise(f"rate limit {hostile}", NOW)


def test_how_long_to_wait_is_read_from_any_text() -> None:
    assert limits.wait_in("usage limit\nretry-after: 7166", NOW) == 7166.0
    assert limits.wait_in("usage limit", NOW) is None
