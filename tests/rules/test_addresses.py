"""Where a server sends nothing, whoever asks for it; and what lets it do so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import Invalid
from dibs.rules.addresses import REFUSED, Target, admitted, objection, parse_target, refusal

PUBLIC = (
    *("93.184.215.14", "8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0"),
    *("2606:2800:21f:cb07:6820:80da:af6b:8b2c", "2001:4860:4860::8888", "2a00:1450:4001::1", "192.0.1.0"),
)


@pytest.mark.parametrize("address", PUBLIC)
def test_what_anybody_can_reach_is_sent_to(address: str) -> None:
    assert refusal(address) is None


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("0.0.0.0", "this host"),
        ("0.1.2.3", "this host"),
        ("10.0.0.1", "a private network"),
        ("172.16.0.1", "a private network"),
        ("172.31.255.255", "a private network"),
        ("192.168.1.1", "a private network"),
        ("100.64.0.1", "a carrier's shared network"),
        ("100.127.255.255", "a carrier's shared network"),
        ("169.254.1.1", "link-local"),
        ("169.254.169.254", "a cloud's metadata service"),
        ("169.254.170.2", "a cloud's metadata service"),
        ("100.100.100.200", "a cloud's metadata service"),
        ("168.63.129.16", "a cloud's metadata service"),
        ("192.0.0.192", "a cloud's metadata service"),
        ("192.0.0.8", "reserved"),
        ("192.0.2.1", "for documentation"),
        ("192.88.99.1", "a 6to4 relay"),
        ("198.18.0.1", "for benchmarks"),
        ("198.19.255.255", "for benchmarks"),
        ("198.51.100.7", "for documentation"),
        ("203.0.113.7", "for documentation"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "broadcast"),
        ("::", "this host"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "an IPv4 address in IPv6"),
        ("::ffff:8.8.8.8", "an IPv4 address in IPv6"),
        ("::ffff:0:7f00:1", "an IPv4 address in IPv6"),
        ("::7f00:1", "an IPv4 address in IPv6"),
        ("64:ff9b::a00:1", "NAT64"),
        ("64:ff9b:1::a00:1", "NAT64"),
        ("100::1", "discarded"),
        ("2001::1", "Teredo"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"),
        ("2001:2::1", "reserved"),
        ("2001:20::1", "reserved"),
        ("2001:db8::1", "for documentation"),
        ("2002:7f00:1::", "6to4"),
        ("3fff::1", "for documentation"),
        ("5f00::1", "segment routing"),
        ("fc00::1", "a private network"),
        ("fd12:3456:789a::1", "a private network"),
        ("fd00:ec2::254", "a cloud's metadata service"),
        ("fd20:ce::254", "a cloud's metadata service"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("fec0::1", "site-local"),
        ("ff02::1", "multicast"),
        ("4000::1", "reserved"),
        ("1::1", "reserved"),
        ("not an address", "no address"),
        ("", "no address"),
        ("0177.0.0.1", "no address"),
    ],
)
def test_what_only_this_network_can_reach_is_not_sent_to(address: str, what: str) -> None:
    assert refusal(address) == what


@given(st.ip_addresses(v=4))
def test_what_python_calls_private_or_reserved_is_refused(address: object) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:  # type: ignore[attr-defined]
        assert refusal(str(address)) is not None


@given(st.ip_addresses(v=6))
def test_so_it_is_with_ipv6(address: object) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:  # type: ignore[attr-defined]
        assert refusal(str(address)) is not None


@pytest.mark.parametrize("network", [network for network, _ in REFUSED])
def test_both_ends_of_every_network_are_refused(network: str) -> None:
    from ipaddress import ip_network

    found = ip_network(network)
    assert refusal(str(found[0])) is not None
    assert refusal(str(found[-1])) is not None


@pytest.mark.parametrize(
    ("text", "name", "network", "port"),
    [
        ("127.0.0.1:9000", None, "127.0.0.1/32", 9000),
        ("127.0.0.1", None, "127.0.0.1/32", None),
        ("10.0.0.0/8", None, "10.0.0.0/8", None),
        ("10.0.0.0/8:443", None, "10.0.0.0/8", 443),
        ("[::1]:9000", None, "::1/128", 9000),
        ("[::1]", None, "::1/128", None),
        ("::1", None, "::1/128", None),
        ("fd00::/8", None, "fd00::/8", None),
        ("Hooks.Internal:8080", "hooks.internal", None, 8080),
        ("hooks_1.internal.", "hooks_1.internal", None, None),
        (" localhost ", "localhost", None, None),
    ],
)
def test_a_target_is_written_as_people_write_it(
    text: str, name: str | None, network: str | None, port: int | None
) -> None:
    found = parse_target(text)
    assert (found.name, None if found.network is None else str(found.network), found.port) == (name, network, port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":80",
        "host:",
        "host:0",
        "host:65536",
        "host:x",
        "host:٣",
        "a b",
        "-a.test",
        "a-.test",
        "a..b",
        "[::1",
        "[::1]x",
        "[::1]:",
        "10.0.0.0/33",
        "http://a.test",
        "ä.test",
        "a" * 254,
    ],
)
def test_a_target_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_target(text)
    assert refused.value.field == "allow_target"


def test_a_target_lets_in_its_name_or_network_on_its_port() -> None:
    targets = [parse_target("hooks.internal:8080"), parse_target("10.1.0.0/16"), parse_target("[::1]:9000")]
    assert admitted(targets, "hooks.internal", "10.2.0.1", 8080)
    assert admitted(targets, "HOOKS.internal.", "10.2.0.1", 8080)
    assert not admitted(targets, "hooks.internal", "10.2.0.1", 8081)
    assert not admitted(targets, "other.internal", "10.2.0.1", 8080)
    assert admitted(targets, "anything", "10.1.2.3", 1)
    assert admitted(targets, "::1", "::1", 9000)
    assert not admitted(targets, "::1", "::1", 9001)
    assert not admitted([Target(None, None, None)], "x", "10.1.2.3", 1)
    assert not admitted([parse_target("10.1.0.0/16")], "x", "no address", 1)


def test_why_nothing_is_sent_is_told() -> None:
    allowed = [parse_target("10.0.0.1")]
    assert objection(allowed, "a.test", "10.0.0.1", 80, secure=False) is None
    assert objection(allowed, "a.test", "93.184.215.14", 443, secure=True) is None
    assert "without TLS" in (objection(allowed, "a.test", "93.184.215.14", 80, secure=False) or "")
    refused = objection(allowed, "a.test", "10.0.0.2", 443, secure=True)
    assert refused == (
        "10.0.0.2 is a private network, and nothing is sent there unless the server is started with --allow-target"
    )
