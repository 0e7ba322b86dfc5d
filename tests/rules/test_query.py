"""The words in which people look for tasks."""

from __future__ import annotations

from contextlib import suppress
from math import inf, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import Invalid
from dibs.model.status import Status
from dibs.rules.query import MAX_TERMS, MOST_SHOWN, Completion, Conditions, complete, open_key, parse, quoted

NOW = 1_800_000_000_000_000
HOUR = 3_600_000_000


def read(text: str) -> Conditions:
    return parse(text, NOW)


def fault(text: str) -> str:
    with pytest.raises(Invalid) as refused:
        read(text)
    assert refused.value.field == "query"
    return refused.value.message


def test_an_empty_query_asks_for_nothing() -> None:
    assert read("") == read("  \t ") == Conditions()


def test_values_of_one_key_are_alternatives() -> None:
    assert read("status:ready,running").status == ("ready", "running")
    assert read("type:a type:b agent:x,y reason:error") == Conditions(
        type=("a", "b"), agent=("x", "y"), reason=("error",)
    )


def test_tags_and_words_must_all_fit() -> None:
    assert read('tag:repo:x tag:a,b word "two words"') == Conditions(tag=("repo:x", "a,b"), text=("word", "two words"))


def test_a_minus_turns_a_term_around() -> None:
    assert read('-type:a,b -agent:x -reason:r -tag:t -user:u -word -"two words"') == Conditions(
        not_type=("a", "b"),
        not_agent=("x",),
        not_reason=("r",),
        not_tag=("t",),
        not_user=("u",),
        not_text=("word", "two words"),
    )
    assert read("- -").text == ("-", "-")


def test_a_status_that_is_not_wanted_leaves_the_others() -> None:
    left = read("-status:completed,cancelled").status
    assert left == tuple(status.value for status in Status if status not in ("completed", "cancelled"))
    assert read("status:ready,running -status:ready").status == ("running",)


def test_one_of_a_kind() -> None:
    assert read("dag:dag_1 parent:task_1 user:grace") == Conditions(dag="dag_1", parent="task_1", user="grace")
    assert "character 7: dag can be given once" in fault("dag:a  dag:b".replace("  ", " "))
    assert "parent cannot be turned around" in fault("-parent:a")


def test_flags_are_yes_or_no() -> None:
    assert read("poison:yes").poison is True
    assert read("-poison:yes").poison is False
    assert read("parked:no") == Conditions(parked=False)
    assert read("parked:yes") == Conditions(parked=True, status=("ready",))
    assert read("parked:yes status:running").status == ("running",)
    assert "character 8: parked is yes or no, not 'maybe'" in fault("parked:maybe")


def test_comparisons_are_ranges() -> None:
    assert read("cost>0.5").cost == (nextafter(0.5, inf), inf)
    assert read("cost<0.5").cost == (-inf, nextafter(0.5, -inf))
    assert read("priority>=10 priority<=20").priority == (10, 20)
    assert read("attempts=2 tokens>1000") == Conditions(attempts=(2, 2), tokens=(nextafter(1000, inf), inf))


def test_age_is_counted_from_now() -> None:
    assert read("age>1h").created == (-inf, NOW - HOUR - 1)
    assert read("age>=1h").created == (-inf, NOW - HOUR)
    assert read("age<1h").created == (NOW - HOUR + 1, inf)
    assert read("age<=2h age>1h").created == (NOW - 2 * HOUR, NOW - HOUR - 1)


def test_quotes_hold_what_would_mean_something() -> None:
    assert read('"a:b" tag:"two words" type:"a,b"') == Conditions(text=("a:b",), tag=("two words",), type=("a,b",))
    assert read(r'"say \"x\" \\ "').text == ('say "x" \\',)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("status:gone", "character 8: there is no status 'gone'; there are pending, scheduled"),
        ("type:a colour:red", "character 8: there is no key 'colour'; there are status:, type:"),
        ("http://x", "goes in quotes"),
        ("status>3", "character 1: write status:value; only cost, age"),
        ("cost:3", "character 1: compare cost with >, >=, <, <= or =, as in cost>0.5"),
        ("tokens:3", "as in tokens>1000"),
        (":x", "character 1: there is no key ''"),
        ("type:", "character 6: write a value after type:"),
        ("type:a,", "character 6: write a value after type:"),
        ('""', "character 1: there is nothing in the quotes"),
        ('tag:"open', "character 5: the quote that opens here is not closed"),
        ('"open\\', "character 1: the quote that opens here is not closed"),
        ('"a"b', "character 4: put a blank after the closing quote"),
        ('a"b"', "character 2: put a blank before the quote"),
        ("cost>much", "character 6: cost is compared with a number, not 'much'"),
        ("cost>inf", "cost is compared with a number"),
        ("cost>nan", "cost is compared with a number"),
        ("age>long", "character 5: age must be a number of seconds or a text such as"),
        ("-cost>1", "character 1: turn the comparison around instead, as in cost>0.5"),
        ("-tokens>1", "as in tokens>1000"),
    ],
)
def test_a_fault_is_named_with_its_place(query: str, says: str) -> None:
    assert says in fault(query)


def test_a_query_has_its_limits() -> None:
    assert "2,000 characters" in fault("a" * 2_001)
    assert f"at most {MAX_TERMS} terms" in fault("a " * (MAX_TERMS + 1))
    assert len(read("a " * MAX_TERMS).text) == MAX_TERMS


@given(st.text(min_size=1).filter(lambda text: text.strip() == text and text.strip() != ""))
def test_whatever_is_quoted_is_read_again(value: str) -> None:
    assert read(f"tag:{quoted(value)}").tag == (value,)
    assert read(quoted(value)).text == (value,)


@given(st.text(alphabet='ab:<>="\\- ,', max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(Invalid):
        assert isinstance(read(text), Conditions)


def inserts(text: str, words: dict[str, list[str]] | None = None, at: int | None = None) -> list[str]:
    return [each.insert for each in complete(text, len(text) if at is None else at, words or {})]


def test_keys_are_completed() -> None:
    assert inserts("st") == ["status:"]
    assert inserts("status:ready pa") == ["parent:", "parked:"]
    assert inserts("c") == ["cost>"]
    assert complete("tok", 3, {})[0] == Completion(
        start=0, end=3, insert="tokens>", about="in and out, as in tokens>1000"
    )
    assert "status:" in inserts("")
    assert "-type:" in inserts("-")
    assert inserts("-p") == ["-parent:"]
    assert inserts("zebra") == []


def test_values_are_completed() -> None:
    assert inserts("status:r") == ["ready", "running", "retrying"]
    assert complete("x status:ready,ru", 17, {}) == [Completion(start=15, end=17, insert="running")]
    assert inserts("parked:") == ["yes", "no"]
    assert inserts("tag:RE", {"tag": ["repo:x", "red", "blue"]}) == ['"repo:x"', "red"]
    assert inserts('tag:"tw', {"tag": ["two words"]}) == ['"two words"']
    assert inserts("type:c rest", {"type": ["code"]}, at=6) == ["code"]
    assert inserts("nokey:c", {"type": ["code"]}) == []
    assert inserts("agent:x") == []
    assert len(inserts("agent:", {"agent": [f"a{n}" for n in range(50)]})) == MOST_SHOWN


@pytest.mark.parametrize(
    ("text", "at", "key"),
    [
        ("", None, None),
        ("ty", None, None),
        ("type:", None, "type"),
        ("x -tag:re", None, "tag"),
        ("type:code rest", None, None),
        ("type:code rest", 6, "type"),
        ('tag:"two wo', None, "tag"),
        ('"type:', None, None),
        ("nokey:x", None, None),
    ],
)
def test_values_are_looked_for_only_where_one_is_being_written(text: str, at: int | None, key: str | None) -> None:
    assert open_key(text, len(text) if at is None else at) == key


def test_inside_a_quoted_text_there_is_nothing_to_say() -> None:
    assert inserts('"sta') == []
    assert inserts('"done" st') == ["status:"]
