"""The table of verbs says of each what the queue says."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dibs import wire
from dibs.model.role import Role
from dibs.queue import Queue

if TYPE_CHECKING:
    from dibs.wire.verbs import Verb

SAID_OTHERWISE = {
    "spawn": "spawn_below says it, and whether the claim has ended",
    "ask": "ask_under says it, and whether the claim has ended",
    "renew_with": "renew_many says it",
    "settle": "settle_outcomes says how the claims ended; what follows is decided by the server",
    "artifact_stream": "open_artifact says it",
    "hear": "journal, look_up and record say it: an answer that was lost is not the only one then",
    "events": "read_events says it a page at a time, and /v1/events as a stream",
    "dag": "add_dag says it, once it is written down",
    "close": "there is nothing to close",
    "chance": "claim says it, and waits at the server",
    "seized": "claim says it",
    "abandon": "claim says it: what nobody waits for is given back",
    "receive": "webhooks come in at /in/NAME, as their senders send them",
}
NOT_OF_THE_QUEUE = {
    *("about", "follow_events", "look_up", "last_seq", "news", "check", "advise", "refer_to_artifact"),
    *("get_budget", "get_breaker", "get_rate"),
}
"""What only a client needs, or what a version is asked for with."""
NOT_SENT = {"connection", "known"}
"""Parameters that cannot be sent: what is at hand in the process only."""
WHO_ASKS = ("create_login", "create_token", "revoke_token", "rotate_token")
"""Who does these is known from the token."""
SENT_BESIDE = {
    "complete": {"judged", "refusal"},
    "put_artifact": {"data"},
    "keep_bytes": {"data"},
    **{name: {"by"} for name in WHO_ASKS},
}
"""What is said over the wire and not in Python, and the other way around."""

VERBS = wire.every()
OF_THE_QUEUE = [verb for verb in VERBS if verb.name not in NOT_OF_THE_QUEUE]


def parameters(verb: Verb) -> dict[str, inspect.Parameter]:
    found = dict(inspect.signature(getattr(Queue, verb.name)).parameters)
    found.pop("self")
    return {name: each for name, each in found.items() if name not in NOT_SENT}


@pytest.mark.parametrize("verb", OF_THE_QUEUE, ids=lambda verb: f"{verb.name} {verb.path}")
def test_a_verb_takes_what_the_queue_takes(verb: Verb) -> None:
    wanted = set(parameters(verb))
    if "claim" in wanted and verb.holds:
        wanted = wanted - {"claim"} | {"task_id", "fence"}
    said = {*verb.in_path, *verb.needs, *verb.takes}
    assert said ^ wanted == SENT_BESIDE.get(verb.name, set())


@pytest.mark.parametrize("verb", OF_THE_QUEUE, ids=lambda verb: f"{verb.name} {verb.path}")
def test_a_verb_needs_what_the_queue_needs(verb: Verb) -> None:
    needed = {name for name, each in parameters(verb).items() if each.default is inspect.Parameter.empty}
    said = {*verb.in_path, *verb.needs} - {"fence", "task_id"}
    needed -= {"claim"} if verb.holds else set()
    needed -= {"task_id", *(("data",) if verb.sends == "bytes" else ())}
    # Whoever is asked over the wire cannot know the agent's host and process.
    assert said - needed <= {"agent", "type", "scope", "name"}
    assert needed <= said


def test_every_verb_of_the_queue_goes_over_the_wire() -> None:
    own = {name for name, each in inspect.getmembers(Queue, inspect.isfunction) if not name.startswith("_")}
    tokens = {name for name in own if "token" in name or name in ("audit", "verify_audit", "record_act", "prune_audit")}
    assert own - tokens - {verb.name for verb in VERBS} == set(SAID_OTHERWISE)
    assert {verb.name for verb in VERBS} - own == NOT_OF_THE_QUEUE


def test_no_two_verbs_have_one_route() -> None:
    routes = [(verb.method, verb.path) for verb in VERBS]
    assert len(set(routes)) == len(routes)


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: f"{verb.name} {verb.path}")
def test_a_verb_is_for_somebody_and_the_admin_is_one_of_them(verb: Verb) -> None:
    assert Role.ADMIN in verb.roles
    assert verb.about.endswith(".")


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: f"{verb.name} {verb.path}")
def test_who_only_looks_changes_nothing(verb: Verb) -> None:
    if Role.VIEWER in verb.roles:
        assert verb.method == "GET" or verb.name == "look_up"
    if verb.method == "GET":
        assert not verb.acts


def test_a_verb_is_found_by_its_name() -> None:
    assert wire.verb("claim").path == "/v1/claims"
    assert wire.verb("claim", "claims") is wire.verb("claim")
    with pytest.raises(LookupError):
        wire.verb("steal")


def test_a_verb_loads_its_own_topic_only() -> None:
    code = (
        "import sys; from dibs import wire; wire.verb('add', 'tasks'); print([n for n in sys.modules if 'topics' in n])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "dibs.wire.topics.tasks" in found
    assert "claims" not in found


def test_what_a_verb_answers_can_be_read() -> None:
    import msgspec

    for verb in VERBS:
        for reply in (verb.reply, verb.or_reply):
            if reply is not None:
                decoder: Any = msgspec.json.Decoder(reply)
                assert decoder is not None
