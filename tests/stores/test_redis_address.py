"""What a Redis URL says, what is refused in it, and how a namespace's keys are kept apart from all others."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dibs
from dibs.stores import shown
from dibs.stores.redis.address import Address
from dibs.stores.redis.naming import tag

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)


def test_everything_can_be_said() -> None:
    address = Address.parse(
        "rediss://ada:s%40crt@one.example:6380,two.example/3"
        "?namespace=team&wait=2&aof=on&wait_ms=250&connect_timeout=9&ssl_ca_certs=/etc/ca.pem"
    )
    assert (address.user, address.password, address.database) == ("ada", "s@crt", 3)
    assert address.hosts == (("one.example", 6380), ("two.example", 6379))
    assert (address.namespace, address.replicas, address.on_disk, address.wait_ms) == ("team", 2, True, 250)
    assert address.connect_timeout_s == 9
    assert address.tls == {"ssl_ca_certs": "/etc/ca.pem"}
    assert address.place == "one.example:6380,two.example:6379/3"


def test_little_needs_to_be_said() -> None:
    address = Address.parse("redis://localhost")
    assert (address.user, address.password, address.database) == (None, None, 0)
    assert (address.hosts, address.tls) == ((("localhost", 6379),), None)
    assert (address.namespace, address.replicas, address.on_disk) == ("dibs", 0, False)
    assert address.place == "localhost:6379/0"


@pytest.mark.parametrize(
    ("url", "place", "user", "password"),
    [
        ("redis://", "localhost:6379/0", None, None),
        ("redis:///2", "localhost:6379/2", None, None),
        ("redis://host/", "host:6379/0", None, None),
        ("redis://:hush@host:1", "host:1/0", None, "hush"),
        ("redis://ada@host", "host:6379/0", "ada", None),
        ("redis://ada:a:b@host", "host:6379/0", "ada", "a:b"),
        ("redis://[::1]:7000/1", "[::1]:7000/1", None, None),
        ("redis://[::1]", "[::1]:6379/0", None, None),
    ],
)
def test_servers_are_named_in_all_the_usual_ways(url: str, place: str, user: str | None, password: str | None) -> None:
    address = Address.parse(url)
    assert (address.place, address.user, address.password) == (place, user, password)


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("redis:localhost", "begins with redis:// or rediss://"),
        ("redis://localhost:port", "a port is a number from 1 to 65535"),
        ("redis://localhost:70000", "a port is a number from 1 to 65535"),
        ("redis://localhost:0", "a port is a number from 1 to 65535"),
        ("redis://localhost:", "a port is a number from 1 to 65535"),
        ("redis://[::1", "cannot be read"),
        ("redis://localhost/tasks", "a name goes into ?namespace=name"),
        ("redis://localhost/-1", "A Redis database is a number"),
        ("redis://localhost/1/2", "A Redis database is a number"),
        ("redis://localhost/²", "A Redis database is a number"),
        ("redis://localhost?namespace=", "A namespace has 1 to 200 characters"),
        ("redis://localhost?namespace=" + "a" * 201, "A namespace has 1 to 200 characters"),
        ("redis://localhost?namespace=%FF", "write ?name=value&name=value"),
        ("redis://localhost?namespace=\ud800", "cannot be written"),
        ("redis://localhost?namespace=a&namespace=b", "says something twice"),
        ("redis://localhost?namespace=a\nb", "escape it"),
        ("redis://localhost?namespace=a b", "escape it"),
        ("redis://localhost?namespace", "write ?name=value&name=value"),
        ("redis://localhost?wait=-1", "wait=-1 must be a whole number from 0 to 100"),
        ("redis://localhost?wait=all", "must be a whole number from 0 to 100"),
        ("redis://localhost?wait=1&wait_ms=0", "wait_ms=0 must be a whole number from 1"),
        ("redis://localhost?wait_ms=5", "add wait=1 or aof=on"),
        ("redis://localhost?aof=always", "aof=off or aof=on"),
        ("redis://localhost?connect_timeout=0", "must be a whole number from 1 to 3600"),
        ("redis://localhost?namespce=a", "did you mean namespace?"),
        ("redis://localhost?schema=a", "did you mean namespace?"),
        ("redis://localhost?colour=red", "unknown parameter colour; leave it out"),
        ("redis://localhost?cluster=1", "recognised by itself"),
        ("redis://localhost?db=2", "write the database after the host"),
        ("redis://localhost?ssl_ca_certs=/x", "write rediss:// for TLS"),
        ("rediss://localhost?ssl_cert_reqs=optional", "ssl_cert_reqs=required or ssl_cert_reqs=none"),
        ("rediss://localhost?ssl_check_hostname=1", "ssl_check_hostname=on or ssl_check_hostname=off"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_to_write_instead(url: str, advice: str) -> None:
    with pytest.raises(dibs.Invalid) as caught:
        Address.parse(url)
    assert advice in caught.value.message
    assert caught.value.field == "url"
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("character", ["/", "?", "#"])
def test_a_password_that_was_not_escaped_is_refused_and_not_shown(character: str) -> None:
    with pytest.raises(dibs.Invalid, match="must be escaped") as caught:
        Address.parse(f"redis://ada:hush{character}hush@localhost/0")
    assert "hush" not in caught.value.message


def test_nothing_that_is_printed_of_an_address_contains_the_password() -> None:
    url = "rediss://ada:hush@host:6379/0?ssl_password=hush"
    address = Address.parse(url)
    assert "hush" not in repr(address)
    assert "hush" not in address.place
    assert shown(url) == "rediss://ada:***@host:6379/0?ssl_password=***"


def test_a_certificate_that_is_not_checked_need_not_have_the_right_name() -> None:
    address = Address.parse("rediss://localhost?ssl_cert_reqs=none")
    assert address.tls == {"ssl_cert_reqs": "none", "ssl_check_hostname": False}


# When a write counts


def test_by_default_a_write_counts_when_it_is_answered() -> None:
    assert Address.parse("redis://localhost").confirmation is None


def test_with_wait_it_counts_when_so_many_replicas_have_it() -> None:
    address = Address.parse("redis://localhost?wait=2&wait_ms=50")
    assert address.confirmation == ("WAIT", 2, 50)
    assert [address.is_confirmed(count) for count in (0, 1, 2, 3)] == [False, False, True, True]


def test_with_aof_it_counts_when_it_is_on_disk() -> None:
    address = Address.parse("redis://localhost?aof=on&wait=1")
    assert address.confirmation == ("WAITAOF", 1, 1, 1000)
    assert [address.is_confirmed(answer) for answer in ([0, 1], [1, 0], [1, 1])] == [False, False, True]


# Namespaces


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dibs", "{dibs:dibs}"),
        ("team-1_a.b~c", "{dibs:team-1_a.b~c}"),
        ("a:b", "{dibs:a%3Ab}"),
        ("{x}", "{dibs:%7Bx%7D}"),
        ("*", "{dibs:%2A}"),
        ("a%3Ab", "{dibs:a%253Ab}"),
        ("zwei\nZeilen", "{dibs:zwei%0AZeilen}"),
        ("ä", "{dibs:%C3%A4}"),
    ],
)
def test_a_namespace_is_written_so_that_it_cannot_be_mistaken(name: str, expected: str) -> None:
    assert tag(name) == expected


@given(NAMES)
def test_any_text_can_be_a_namespace(name: str) -> None:
    assert Address.parse(f"redis://localhost?namespace={quote(name, safe='')}").namespace == name
    # The hash tag is what stands between the first brace and the first one that closes: here, all of ours.
    key = f"{tag(name)}:task:1"
    assert key[key.index("{") : key.index("}") + 1] == tag(name)
    # No pattern that is made of it matches anything else.
    assert not set(tag(name)) & set("*?[]^\\\n ")


@given(NAMES, NAMES, st.text(), st.text())
def test_no_two_namespaces_share_a_key(one: str, two: str, rest: str, other: str) -> None:
    if one != two:
        assert tag(one) + rest != tag(two) + other
