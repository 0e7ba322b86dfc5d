"""What is offered to other agents: which types of tasks, under which names, and what holds for those tasks.

A file says it, in YAML or JSON, and nothing that it does not name can be asked for. What it says is on the agent's
card, which anybody may read.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from dibs import drafting
from dibs.errors import DibsError, Invalid
from dibs.model.task import NewTask
from dibs.rules import validation

MAX_SKILLS = 100
MAX_FILE_BYTES = 1 << 20
MAX_DESCRIPTION_CHARS = 4_000
DEFAULT_KEY = "prompt"
"""Where in a payload the text of a message goes: where `dibs run` has its `{prompt}`."""

OPTIONS = frozenset(NewTask.__struct_fields__) - {
    # These are the message's, or the server's.
    *("type", "payload", "ref", "title", "after", "after_ended", "dag", "key", "user", "created_by", "context"),
    # A message answers for itself.
    *("coalesce_key", "coalesce_window"),
}
_TOP = ("name", "description", "url", "version", "organization", "default", "skills")
_SKILL = ("name", "description", "tags", "examples", "text", "options")


class Skill(Struct, frozen=True, kw_only=True):
    """One type of task as others see it. `text` is the key of the payload that the text of a message becomes;
    `options` are those of `add`, for every task of this skill."""

    type: str
    name: str
    description: str
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    text: str = DEFAULT_KEY
    options: dict[str, Any] = {}


class Offer(Struct, frozen=True, kw_only=True):
    """An agent that others can ask: what its card says, and its skills by type. `default` is the type of messages that
    name none; `url` is where clients reach the server, if that is not where it listens."""

    name: str
    description: str
    skills: dict[str, Skill]
    default: str | None = None
    url: str | None = None
    version: str = "1"
    organization: str | None = None


def read_offer(path: str) -> Offer:
    """The offer in a file. Raises Invalid, with the field, also for a file that is not there."""
    import yaml

    try:
        with open(path, "rb") as file:
            written = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise Invalid(f"a2a: {path} cannot be read: {error.strerror}.", field="a2a") from None
    if len(written) > MAX_FILE_BYTES:
        raise Invalid(f"a2a: {path} is larger than {MAX_FILE_BYTES:,} bytes.", field="a2a")
    try:
        said = yaml.safe_load(written)
    except (yaml.YAMLError, RecursionError, ValueError):
        raise Invalid(f"a2a: {path} is not YAML (or JSON); see docs/a2a.md.", field="a2a") from None
    return offer_of(said)


def offer_of(said: Any) -> Offer:
    """An offer as somebody wrote it, checked. Raises Invalid, with the field."""
    top = _object(said, "a2a", _TOP)
    skills = top.get("skills")
    if not isinstance(skills, dict) or not skills:
        raise Invalid("a2a: skills must name at least one type of task: {research: {description: …}}.", field="skills")
    if len(skills) > MAX_SKILLS:
        raise Invalid(f"a2a: skills has {len(skills)} entries; at most {MAX_SKILLS} are allowed.", field="skills")
    found = {type: _skill(type, value) for type, value in skills.items()}
    default = top.get("default")
    if default is not None and default not in found:
        raise Invalid(f"a2a: default must be one of the skills, not {default!r:.80}.", field="default")
    if default is None and len(found) == 1:
        default = next(iter(found))
    return Offer(
        name=_line(top, "name", "name"),
        description=_line(top, "description", "description", max_chars=MAX_DESCRIPTION_CHARS),
        skills=found,
        default=default,
        url=None if top.get("url") is None else _check_url(top["url"]),
        version=_line(top, "version", "version", default="1"),
        organization=None if top.get("organization") is None else _line(top, "organization", "organization"),
    )


def _skill(type: Any, said: Any) -> Skill:
    validation.text(type, "skills")
    field = f"skills.{type}"
    spec = _object({} if said is None else said, field, _SKILL)
    options = _object(spec.get("options", {}), f"{field}.options", sorted(OPTIONS))
    try:
        # Whatever is wrong with them is said now, not when the first message comes.
        drafting.drafts([NewTask(type, **options)], project="default", now=0, new_id=lambda kind: f"{kind}_0")
    except DibsError as error:
        raise Invalid(f"a2a: {field}.options: {error.message}", field=f"{field}.options") from None
    return Skill(
        type=type,
        name=_line(spec, "name", f"{field}.name", default=type),
        description=_line(spec, "description", f"{field}.description", max_chars=MAX_DESCRIPTION_CHARS),
        tags=validation.names(spec.get("tags", ()), f"{field}.tags", ordered=True),
        examples=_examples(spec.get("examples", []), f"{field}.examples"),
        text=_line(spec, "text", f"{field}.text", default=DEFAULT_KEY),
        options=options,
    )


def _object(said: Any, field: str, known: Any) -> dict[str, Any]:
    if not isinstance(said, dict):
        raise Invalid(f"{field} must be an object, not {said!r:.80}.", field=field)
    for name in said:
        if name not in known:
            near = get_close_matches(str(name), known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}."
            raise Invalid(f"{field} has no {name!r:.80}: {hint}", field=field)
    return said


def _line(said: dict[str, Any], name: str, field: str, *, default: str | None = None, max_chars: int = 200) -> str:
    value = said.get(name, default)
    if value is None:
        raise Invalid(f"a2a: {field} is missing: other agents read it.", field=field)
    return validation.text(value, field, max_chars=max_chars)


def _examples(said: Any, field: str) -> tuple[str, ...]:
    if not isinstance(said, list) or len(said) > validation.MAX_NAMES:
        raise Invalid(f"{field} must be a list of at most {validation.MAX_NAMES} texts.", field=field)
    return tuple(validation.text(example, field, max_chars=MAX_DESCRIPTION_CHARS) for example in said)


def _check_url(url: Any) -> str:
    written = validation.text(url, "url", max_chars=2_000)
    if not re.fullmatch(r"https?://[^/\s?#@]+(/[^\s?#]*)?", written):
        raise Invalid("a2a: url must be where clients reach this server: https://queue.example.com", field="url")
    return written.rstrip("/")
