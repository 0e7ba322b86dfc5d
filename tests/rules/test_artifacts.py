"""What artifacts may be called, and where their bytes lie."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.model.artifact import Artifact
from dibs.rules import artifacts

HEX = "ab" + "0" * 62
DIGEST = f"sha256:{HEX}"
GOOD = Artifact(name="a", digest=DIGEST, size=1)


def test_the_key_is_made_of_the_digest_alone() -> None:
    assert artifacts.key(DIGEST) == f"sha256/ab/{HEX}"
    assert artifacts.digest_at(artifacts.key(DIGEST)) == DIGEST


@pytest.mark.parametrize(
    "digest", ["", HEX, "sha256:", "sha256:../../etc/passwd", f"sha256:{HEX.upper()}", f"{DIGEST}0", f"{DIGEST}\n"]
)
def test_what_is_no_digest_has_no_key(digest: str) -> None:
    assert not artifacts.is_digest(digest)
    with pytest.raises(Invalid) as caught:
        artifacts.key(digest)
    assert caught.value.field == "digest"


@pytest.mark.parametrize("key", ["", HEX, f"sha256/{HEX}", f"sha256/cd/{HEX}", f"x/sha256/ab/{HEX}", "sha256/ab/abc"])
def test_no_digest_lies_at_a_key_that_is_not_ours(key: str) -> None:
    assert artifacts.digest_at(key) is None


@pytest.mark.parametrize("kind", [None, "text/plain", "image/svg+xml", "text/plain; charset=utf-8", "a/b;x=1"])
def test_a_media_type_is_two_words_and_perhaps_more(kind: str | None) -> None:
    assert artifacts.media_type(kind) == kind


@pytest.mark.parametrize(
    "kind", ["", "text", "text/", "/plain", "text/plain\n", "te xt/plain", "text/plain charset", 7]
)
def test_anything_else_is_no_media_type(kind: Any) -> None:
    with pytest.raises(Invalid) as caught:
        artifacts.media_type(kind)
    assert caught.value.field == "media_type"


@pytest.mark.parametrize("field", ["name", "artifacts"])
def test_a_name_that_dibs_uses_is_refused(field: str) -> None:
    assert artifacts.label("output", field) == "output"
    with pytest.raises(Invalid) as refused:
        artifacts.label("dibs:output", field)
    assert refused.value.field == field


def test_an_artifact_can_be_passed_on_as_it_is_or_as_an_object() -> None:
    other = {"name": "b", "digest": DIGEST, "size": 0, "media_type": "a/b", "task_id": "task_1"}
    passed = artifacts.passed_on([GOOD, other])
    assert passed == (GOOD, Artifact(name="b", digest=DIGEST, size=0, media_type="a/b"))
    assert artifacts.passed_on(()) == ()


@pytest.mark.parametrize(
    "values",
    [
        "artifact",
        {"name": "a"},
        7,
        [7],
        [{"name": "a", "size": 1}],
        [{"name": "", "digest": DIGEST, "size": 1}],
        [{"name": "a", "digest": "sha256:0", "size": 1}],
        [{"name": "a", "digest": DIGEST, "size": -1}],
        [{"name": "a", "digest": DIGEST, "size": 1, "media_type": "text"}],
        [GOOD, GOOD],
        [Artifact(name=f"a{number}", digest=DIGEST, size=1) for number in range(artifacts.MAX_PER_TASK + 1)],
    ],
)
def test_what_is_no_list_of_artifacts_is_refused(values: Any) -> None:
    with pytest.raises(Invalid) as caught:
        artifacts.passed_on(values)
    assert caught.value.field == "artifacts"


def test_the_newest_of_a_name_is_the_one_put_last() -> None:
    later = Artifact(name="a", digest=DIGEST, size=2)
    assert artifacts.newest([GOOD, later]) == {"a": later}


def test_too_much_is_said_with_the_limit() -> None:
    error = artifacts.too_large(1_024)
    assert (error.field, error.code) == ("data", "too_large")
    assert "1,024 bytes" in error.message


def test_bytes_that_are_not_there_are_told_in_one_way() -> None:
    assert artifacts.no_bytes("sha256:0").field == "ref"
    assert artifacts.not_kept("log").field == "artifacts"
