"""What a PostgreSQL URL says, what is refused in it, and that its password is shown to nobody."""

from __future__ import annotations

import pytest

import dibs
from dibs.stores import shown
from dibs.stores.postgres.address import Address


def test_what_is_ours_is_taken_out_and_the_rest_is_for_the_driver() -> None:
    address = Address.parse(
        "postgresql://ada:s%40crt@db.example:6432/tasks?schema=team&pooler=transaction&notify=off&pool=3&sslmode=require"
    )
    assert (address.user, address.password, address.database) == ("ada", "s@crt", "tasks")
    assert (address.schema, address.pooled, address.notify, address.pool) == ("team", True, False, 3)
    assert address.dsn == "postgresql://db.example:6432/?sslmode=require"
    assert address.place == "db.example:6432/tasks"


def test_little_needs_to_be_said() -> None:
    address = Address.parse("postgres://localhost/tasks")
    assert (address.user, address.password, address.database) == (None, None, "tasks")
    assert (address.schema, address.pooled, address.notify, address.pool) == ("dibs", False, True, 10)
    assert address.dsn == "postgresql://localhost/"


@pytest.mark.parametrize(
    ("url", "dsn", "database"),
    [
        ("postgresql:///tasks?host=/run/pg&port=5433", "postgresql:///?host=%2Frun%2Fpg&port=5433", "tasks"),
        ("postgresql:///?host=/run/pg&dbname=tasks", "postgresql:///?host=%2Frun%2Fpg", "tasks"),
        ("postgresql://a:1,b:2/tasks", "postgresql://a:1,b:2/", "tasks"),
        ("postgresql://[::1]:5432/tasks", "postgresql://[::1]:5432/", "tasks"),
        ("postgresql://[::1]/a%20b", "postgresql://[::1]/", "a b"),
        ("postgresql:///tasks?host=a,b&port=5433", "postgresql://a:5433,b:5433/", "tasks"),
        ("postgresql:///tasks", "postgresql:///", "tasks"),
    ],
)
def test_servers_are_named_in_all_the_usual_ways(url: str, dsn: str, database: str) -> None:
    address = Address.parse(url)
    assert (address.dsn, address.database) == (dsn, database)


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("postgresql:localhost/x", "begins with postgresql://"),
        ("postgresql://localhost", "names no database; write it after the host"),
        ("postgresql://localhost/", "names no database; write it after the host"),
        ("postgresql://localhost:port/x", "a port is a number from 1 to 65535"),
        ("postgresql://localhost:70000/x", "a port is a number from 1 to 65535"),
        ("postgresql://localhost:/x", "a port is a number from 1 to 65535"),
        ("postgresql://[::1/x", "cannot be read"),
        ("postgresql://localhost/x?schema=Team", "small letters, digits and _"),
        ("postgresql://localhost/x?schema=1st", "small letters, digits and _"),
        ("postgresql://localhost/x?schema=", "small letters, digits and _"),
        ("postgresql://localhost/x?schema=" + "a" * 51, "small letters, digits and _"),
        ("postgresql://localhost/x?pooler=statement", "pooler=session or pooler=transaction"),
        ("postgresql://localhost/x?notify=0", "notify=on or notify=off"),
        ("postgresql://localhost/x?pool=0", "pool=0 must be a whole number from 1 to 1000"),
        ("postgresql://localhost/x?pool=many", "a whole number from 1 to 1000"),
        ("postgresql://localhost/x?schem=team", "did you mean schema?"),
        ("postgresql://localhost/x?colour=red", "unknown parameter colour; leave it out"),
        ("postgresql://localhost/x?pgbouncer=true", "write pooler=transaction"),
        ("postgresql://localhost/x?channel_binding=require", "channel_binding is not supported"),
        ("postgresql://localhost/x?sslmode=on", "use disable, allow, prefer, require, verify-ca or verify-full"),
        ("postgresql://localhost/x?schema", "write ?name=value&name=value"),
        ("postgresql:///x?host=a,b,c&port=1,2", "one port, or one for each host"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_to_write_instead(url: str, advice: str) -> None:
    with pytest.raises(dibs.Invalid) as caught:
        Address.parse(url)
    assert advice in caught.value.message
    assert caught.value.field == "url"
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("character", ["/", "?", "#", "@"])
def test_a_password_that_was_not_escaped_is_refused_and_not_shown(character: str) -> None:
    url = f"postgresql://ada:hush{character}hush@localhost/x"
    if character == "@":
        assert Address.parse(url).password == "hush@hush"  # there is only one way to read it
        return
    with pytest.raises(dibs.Invalid, match="must be escaped") as caught:
        Address.parse(url)
    assert "hush" not in caught.value.message


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("postgresql://ada:hush@host:5432/db?schema=x", "postgresql://ada:***@host:5432/db?schema=x"),
        ("postgresql://ada:hu@sh@host/db", "postgresql://ada:***@host/db"),
        ("postgresql://ada@host/db", "postgresql://ada@host/db"),
        ("postgresql://host/db?user=ada&password=hush", "postgresql://host/db?user=ada&password=***"),
        ("postgresql://host/db?sslkey=k&sslpassword=hush", "postgresql://host/db?sslkey=k&sslpassword=***"),
        ("sqlite:a@b:c.db", "sqlite:a@b:c.db"),
        ("sqlite:///tmp/a:b@c.db", "sqlite:///tmp/a:b@c.db"),
        ("memory:name", "memory:name"),
    ],
)
def test_people_are_shown_urls_without_their_password(url: str, seen: str) -> None:
    assert shown(url) == seen


def test_nothing_that_is_printed_of_an_address_contains_the_password() -> None:
    address = Address.parse("postgresql://ada:hush@host:5432/db?sslpassword=hush")
    assert "hush" not in repr(address)
    assert "hush" not in address.place
