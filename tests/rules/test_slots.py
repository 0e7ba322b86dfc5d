"""Slots of types: how many more may run, and what people are told."""

from __future__ import annotations

import pytest

from dibs.model.views import Lane, TypeSlots
from dibs.rules import slots


@pytest.mark.parametrize(
    ("most", "held", "room"), [(3, 0, 3), (3, 2, 1), (3, 3, 0), (3, 5, 0)], ids=["none", "some", "all", "too many"]
)
def test_the_room_of_a_type_is_what_is_not_held(most: int, held: int, room: int) -> None:
    assert slots.rooms({"render": most}, {"render": held, "code": 9}) == {"render": room}


def test_a_type_of_which_nothing_is_held_has_all_its_slots() -> None:
    assert slots.rooms({"render": 2}, {}) == {"render": 2}


def test_a_full_type_is_a_closed_gate() -> None:
    closure = slots.told(TypeSlots(type="render", slots=3, held=3))
    assert closure is not None
    assert (closure.gate, closure.kind, closure.type) == ("slots:render", "slots", "render")
    assert closure.reason == "3 of 3 tasks of this type run"
    assert closure.help == "wait for one to end, or let more run: dibs slots --type render 4"


def test_after_lowering_more_run_than_may_and_the_help_lets_one_more_in() -> None:
    closure = slots.told(TypeSlots(type="render", slots=1, held=4))
    assert closure is not None
    assert closure.reason == "4 of 1 tasks of this type run"
    assert closure.help is not None
    assert closure.help.endswith("dibs slots --type render 5")


def test_a_type_with_a_slot_left_is_no_closed_gate() -> None:
    assert slots.told(TypeSlots(type="render", slots=3, held=2)) is None


def test_lanes_say_how_many_of_their_type_run() -> None:
    lanes = [Lane(id=1, type="render"), Lane(id=2, type="render", boost=5.0), Lane(id=3, type="code")]
    slots.mark(lanes, [TypeSlots(type="render", slots=3, held=1)])
    assert [(lane.slots, lane.held) for lane in lanes] == [(3, 1), (3, 1), (None, None)]
