"""Signatures of webhooks: what senders document, and everything that is only like it."""

from __future__ import annotations

import pytest

from dibs.errors import Denied, Invalid
from dibs.rules import signatures

SLACK_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
SLACK_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar"
    b"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com"
    b"%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121."
    b"803a0bc887a14d10d2c447fce8b6703c"
)
STANDARD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NOW = 1_800_000_000_000_000
STAMP = 1_800_000_000


def test_what_github_documents_is_right() -> None:
    headers = {
        "X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
        "X-GitHub-Event": "push",
    }
    found = signatures.verify("github", ["It's a Secret to Everybody"], headers, b"Hello, World!", NOW)
    assert found.type == "push"
    assert len(found.id) == 32


def test_what_slack_documents_is_right() -> None:
    headers = {
        "x-slack-request-timestamp": "1531420618",
        "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    }
    assert signatures.verify("slack", [SLACK_SECRET], headers, SLACK_BODY, 1531420618 * 1_000_000).type is None


def test_what_standard_webhooks_documents_is_right() -> None:
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    body = b'{"test": 2432232314}'
    found = signatures.verify("standard", [STANDARD_SECRET], headers, body, 1614265330 * 1_000_000)
    assert found.type is None
    signed = signatures.sign("standard", STANDARD_SECRET, body, id="msg_p5jXN8AQM9LWM0D4loKWxJek", stamp=1614265330)
    assert signed["Webhook-Signature"] == headers["webhook-signature"]


def secret(scheme: str, number: int = 0) -> str:
    return signatures.secret_from(bytes([number]) * 32, scheme)


@pytest.mark.parametrize("scheme", signatures.SCHEMES)
def test_what_is_signed_is_accepted_with_each_of_the_secrets_and_nothing_else_is(scheme: str) -> None:
    secrets = [secret(scheme, number) for number in range(3)]
    assert signatures.parse_secrets(secrets, scheme) == tuple(secrets)
    assert signatures.parse_secrets(secrets[0], scheme) == (secrets[0],)
    body = b'{"x": 1}'
    for each in secrets:
        headers = signatures.sign(scheme, each, body, id="msg_1", stamp=STAMP)
        assert signatures.verify(scheme, secrets, headers, body, NOW).id
    headers = signatures.sign(scheme, secrets[0], body, id="msg_1", stamp=STAMP)
    for wrong in (
        {},
        dict.fromkeys(headers, ""),
        {name: value + "0" for name, value in headers.items()},
        {name: value[:-2] for name, value in headers.items()},
        dict.fromkeys(headers, "\ud800é"),
    ):
        with pytest.raises(Denied):
            signatures.verify(scheme, secrets, wrong, body, NOW)
    with pytest.raises(Denied):
        signatures.verify(scheme, secrets, headers, body + b" ", NOW)
    with pytest.raises(Denied):
        signatures.verify(scheme, [secret(scheme, 9)], headers, body, NOW)
    with pytest.raises(Denied):
        signatures.verify(scheme, [], headers, body, NOW)


@pytest.mark.parametrize("scheme", ["slack", "standard"])
def test_what_was_signed_long_ago_or_in_the_future_is_refused(scheme: str) -> None:
    for stamp in (STAMP - 301, STAMP + 301):
        headers = signatures.sign(scheme, secret(scheme), b"{}", id="m", stamp=stamp)
        with pytest.raises(Denied) as refused:
            signatures.verify(scheme, [secret(scheme)], headers, b"{}", NOW)
        assert refused.value.code == "stale_signature"
    headers = signatures.sign(scheme, secret(scheme), b"{}", id="m", stamp=STAMP - 299)
    assert signatures.verify(scheme, [secret(scheme)], headers, b"{}", NOW).id


def test_a_delivery_is_known_by_what_is_signed() -> None:
    def github(body: bytes, event: str) -> signatures.Delivery:
        headers = {**signatures.sign("github", secret("github"), body, id="", stamp=0), "X-GitHub-Event": event}
        return signatures.verify("github", [secret("github")], headers, body, NOW)

    assert github(b"a", "push").id == github(b"a", "ping").id != github(b"b", "push").id

    def standard(id: str) -> str:
        headers = signatures.sign("standard", secret("standard"), b"{}", id=id, stamp=STAMP)
        return signatures.verify("standard", [secret("standard")], headers, b"{}", NOW).id

    assert standard("a") == standard("a") != standard("b")


def test_an_id_that_is_missing_is_refused() -> None:
    headers = signatures.sign("standard", secret("standard"), b"{}", id="", stamp=STAMP)
    with pytest.raises(Denied):
        signatures.verify("standard", [secret("standard")], headers, b"{}", NOW)


@pytest.mark.parametrize(
    ("given", "scheme"),
    [
        ("short", "github"),
        ("", "github"),
        (5, "github"),
        ([], "github"),
        (["a" * 16] * 6, "github"),
        (["a" * 16, 5], "slack"),
        ("whsec_not base64", "standard"),
        ("whsec_c2hvcnQ=", "standard"),
        ("plain text that is long", "standard"),
    ],
)
def test_secrets_that_protect_nothing_are_refused(given: object, scheme: str) -> None:
    with pytest.raises(Invalid) as refused:
        signatures.parse_secrets(given, scheme)
    assert refused.value.field == "secret"


@pytest.mark.parametrize("scheme", [None, "none", "GitHub", 5])
def test_schemes_that_nobody_knows_are_refused(scheme: object) -> None:
    with pytest.raises(Invalid) as refused:
        signatures.parse_scheme(scheme)
    assert refused.value.field == "scheme"
