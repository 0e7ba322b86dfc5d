"""Artifacts in a bucket: the real library talks to a small server."""

from __future__ import annotations

import os
from hashlib import sha256

import pytest

import dibs
from tests.artifacts.small_s3 import serving


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret")
    for name in ("http_proxy", "HTTP_PROXY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("size", [0, 5, 11 << 20], ids=["empty", "small", "in parts"])
def test_bytes_go_into_a_bucket_and_come_back(size: int) -> None:
    content = os.urandom(size)
    with serving() as (endpoint, objects):
        url = f"s3://agents/some/prefix?endpoint={endpoint}&region=eu-1"
        with dibs.connect_sync("memory:", artifacts=url) as queue:
            queue.add("job")
            [claim] = queue.claim("ada")
            artifact = queue.put_artifact(claim, "../report", content)
            digest = sha256(content).hexdigest()
            assert list(objects) == [f"/agents/some/prefix/sha256/{digest[:2]}/{digest}"]
            assert queue.open_artifact(artifact).read() == content
            queue.complete(claim, artifacts=[{"name": "again", "digest": artifact.digest, "size": size}])
            with pytest.raises(dibs.NotFound):
                queue.open_artifact(f"sha256:{'0' * 64}")


def test_a_bucket_that_is_away_is_unavailable_and_no_secret_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.artifacts.blobs.RETRY", {"max_retries": 0})
    with dibs.connect_sync("memory:", artifacts="s3://agents?endpoint=http://127.0.0.1:9&region=eu-1") as queue:
        queue.add("job")
        [claim] = queue.claim("ada")
        with pytest.raises(dibs.Unavailable) as caught:
            queue.put_artifact(claim, "report", b"hello")
        assert "secret" not in str(caught.value)
        assert queue.get(claim.task.id).artifacts == ()
