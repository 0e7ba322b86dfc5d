"""Artifacts: what they may be called, how large they may be, and where their bytes lie.

The bytes are addressed by their content: the key is made of the digest and of nothing that anybody wrote, so no name
can lead out of the place where artifacts are kept, and equal bytes are kept once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import ValidationError, convert

from dibs.errors import Invalid, NotFound
from dibs.model.artifact import Artifact
from dibs.rules import validation
from dibs.rules.large import KEPT_AS

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_BYTES = 1 << 30
"""How large an artifact may be where nobody says otherwise."""
MAX_PER_TASK = 1_000
MAX_MEDIA_TYPE_CHARS = 200
FRESH_S = 1_800.0
"""Bytes that were written so recently need not be written again: no sweep looks at them for as long again."""
MIN_SWEEP_AGE_S = 2 * FRESH_S
SWEEP_AGE_S = 86_400.0

FOLDER = "sha256"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})", re.ASCII)
_MEDIA_TYPE = re.compile(r"[\w.+!#$&^-]+/[\w.+!#$&^-]+( *;[ -~]*)?", re.ASCII)


def media_type(value: Any) -> str | None:
    """What kind of bytes these are, as in `text/markdown` or `text/plain; charset=utf-8`; None if nobody said."""
    if value is None:
        return None
    text = validation.text(value, "media_type", max_chars=MAX_MEDIA_TYPE_CHARS)
    if _MEDIA_TYPE.fullmatch(text) is None:
        raise Invalid(f"media_type must look like text/markdown, not {text!r:.80}.", field="media_type")
    return text


def label(value: Any, field: str = "name") -> str:
    """What an artifact is called."""
    text = validation.text(value, field)
    if text == KEPT_AS:
        raise Invalid(f"{KEPT_AS} is what dibs calls the bytes of a large output; take another name.", field=field)
    return text


def is_digest(text: str) -> bool:
    """Whether this is written as digests are."""
    return _DIGEST.fullmatch(text) is not None


def key(digest: str) -> str:
    """Where the bytes of this digest lie."""
    found = _DIGEST.fullmatch(digest)
    if found is None:
        raise Invalid(f"{digest!r:.100} is not a digest; one looks like sha256: and 64 hex digits.", field="digest")
    return f"{FOLDER}/{found[1][:2]}/{found[1]}"


def digest_at(key: str) -> str | None:
    """The digest of the bytes that lie here; None if this is no place of ours."""
    folder, _, rest = key.rpartition("/")
    digest = f"sha256:{rest}"
    return digest if is_digest(digest) and folder == f"{FOLDER}/{rest[:2]}" else None


def too_large(max_bytes: int) -> Invalid:
    """It has more bytes than are kept."""
    return Invalid(
        f"the artifact has more than {max_bytes:,} bytes; split it, or raise max_bytes where artifacts are kept.",
        field="data",
        code="too_large",
    )


def passed_on(values: Any) -> tuple[Artifact, ...]:
    """Artifacts that a completion names: as `put_artifact` answers them, or as objects with the same fields."""
    if isinstance(values, str | bytes | dict) or not hasattr(values, "__iter__"):
        raise Invalid("artifacts must be a list of artifacts.", field="artifacts")
    found = [_checked(value) for value in values]
    if len({artifact.name for artifact in found}) < len(found):
        raise Invalid("two of the artifacts have the same name.", field="artifacts")
    if len(found) > MAX_PER_TASK:
        raise Invalid(f"a task has at most {MAX_PER_TASK:,} artifacts.", field="artifacts")
    return tuple(found)


def _checked(value: Any) -> Artifact:
    try:
        artifact = value if isinstance(value, Artifact) else convert(value, Artifact)
        if not is_digest(artifact.digest):
            raise Invalid("its digest is not one", field="artifacts")
        return Artifact(
            name=label(artifact.name, "artifacts"),
            digest=artifact.digest,
            size=validation.whole(artifact.size, "artifacts", 0, 1 << 50),
            media_type=media_type(artifact.media_type),
        )
    except (Invalid, ValidationError) as error:
        raise Invalid(
            f"artifacts must be as put_artifact answers them (name, digest, size, media_type): {error}",
            field="artifacts",
        ) from None


def newest(found: Sequence[Artifact]) -> dict[str, Artifact]:
    """Of each name the artifact that was put last; they come in the order in which they were put."""
    return {artifact.name: artifact for artifact in found}


def no_bytes(digest: str) -> NotFound:
    """Nobody put them, or nobody of this project."""
    return NotFound(
        f"The bytes {digest} are not where artifacts are kept: look for another place, or put them again.", field="ref"
    )


def not_kept(name: str) -> Invalid:
    """An artifact is named whose bytes are not there."""
    return Invalid(
        f"the bytes of the artifact {name!r} are not kept: put them first, with put_artifact.", field="artifacts"
    )
