"""Signatures are those of Standard Webhooks, so any library for it can check them."""

from __future__ import annotations

from dibs.rules.signing import SECRET_BYTES, headers, secret_of


def test_the_signature_of_the_example_in_the_standard() -> None:
    made = headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    )
    assert made == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_each_secret_signs() -> None:
    secrets = [secret_of(bytes([number]) * SECRET_BYTES) for number in (1, 2)]
    made = headers("msg_1", 1, b"{}", secrets)["webhook-signature"].split(" ")
    assert made == [headers("msg_1", 1, b"{}", [secret])["webhook-signature"] for secret in secrets]
    assert len(set(made)) == 2


def test_a_secret_says_what_it_is() -> None:
    assert secret_of(b"\0" * SECRET_BYTES) == "whsec_" + "A" * 43 + "="
