"""Which addresses a server may send to on somebody's word.

Whoever sets a hook chooses where this server connects. It must not become a way into the network that the server
stands in: only addresses that anybody on the internet could reach themselves are admitted. Everything else is refused,
also every form in which an IPv6 address carries an IPv4 address, since a gateway may unwrap it: public ones among them
lose nothing, for they can be reached without. Whoever runs the server may name targets that are admitted all the same.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, NamedTuple

from dibs.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterable

    Network = IPv4Network | IPv6Network

REFUSED: tuple[tuple[str, str], ...] = (
    # Metadata services that no range below tells from a public address, or that deserve their name.
    ("168.63.129.16/32", "a cloud's metadata service"),
    ("169.254.169.254/32", "a cloud's metadata service"),
    ("169.254.170.2/32", "a cloud's metadata service"),
    ("100.100.100.200/32", "a cloud's metadata service"),
    ("192.0.0.192/32", "a cloud's metadata service"),
    ("fd00:ec2::254/128", "a cloud's metadata service"),
    ("fd20:ce::254/128", "a cloud's metadata service"),
    ("0.0.0.0/8", "this host"),
    ("10.0.0.0/8", "a private network"),
    ("100.64.0.0/10", "a carrier's shared network"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "a private network"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "for documentation"),
    ("192.88.99.0/24", "a 6to4 relay"),
    ("192.168.0.0/16", "a private network"),
    ("198.18.0.0/15", "for benchmarks"),
    ("198.51.100.0/24", "for documentation"),
    ("203.0.113.0/24", "for documentation"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "this host"),
    ("::1/128", "loopback"),
    ("::ffff:0:0/96", "an IPv4 address in IPv6"),
    ("::ffff:0:0:0/96", "an IPv4 address in IPv6"),
    ("::/96", "an IPv4 address in IPv6"),
    ("64:ff9b::/96", "NAT64"),
    ("64:ff9b:1::/48", "NAT64"),
    ("100::/64", "discarded"),
    ("2001::/32", "Teredo"),
    ("2001:db8::/32", "for documentation"),
    ("2001::/23", "reserved"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "for documentation"),
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "a private network"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)
"""Networks and what they are, the narrower before the wider."""

_REFUSED = tuple((ip_network(network), what) for network, what in REFUSED)
_GLOBAL_V6 = IPv6Network("2000::/3")


class Target(NamedTuple):
    """What is admitted although it is refused otherwise: a name or a network; on one port, or on any."""

    name: str | None
    network: Network | None
    port: int | None


def refusal(address: str) -> str | None:
    """What keeps an address from being sent to; None if it is public. What cannot be read is not."""
    try:
        found = ip_address(address)
    except ValueError:
        return "no address"
    for network, what in _REFUSED:
        if found.version == network.version and found in network:
            return what
    return None if found.version == 4 or found in _GLOBAL_V6 else "reserved"


def parse_target(text: str, field: str = "allow_target") -> Target:
    """A target as people write it: `127.0.0.1:9000`, `[::1]:9000`, `10.0.0.0/8`, `hooks.internal:8080`. Without a port:
    any."""
    host, port = _parted(text.strip().lower(), field)
    try:
        return Target(None, ip_network(host), port)
    except ValueError:
        pass
    if not host or len(host) > 253 or not all(part and _is_label(part) for part in host.rstrip(".").split(".")):
        raise Invalid(
            f"{field} must be an address, a network or a host name, with a port or not, such as 127.0.0.1:9000,"
            f" not {text!r:.80}.",
            field=field,
        )
    return Target(host.rstrip("."), None, port)


def admitted(targets: Iterable[Target], host: str, address: str, port: int) -> bool:
    """Whether one of the targets is this host, or has this address, and this port."""
    host = host.lower().rstrip(".")
    for target in targets:
        if target.port in (None, port) and (target.name == host or _is_in(target.network, address)):
            return True
    return False


def objection(targets: Iterable[Target], host: str, address: str, port: int, *, secure: bool) -> str | None:
    """Why nothing is sent to this address of a host; None if it may be. `secure`: the connection is encrypted."""
    if admitted(targets, host, address, port):
        return None
    what = refusal(address)
    if what is not None:
        return f"{address} is {what}, and nothing is sent there unless the server is started with --allow-target"
    return None if secure else "nothing is sent without TLS: use https, or start the server with --allow-target"


def _is_in(network: Network | None, address: str) -> bool:
    if network is None:
        return False
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return found.version == network.version and found in network


def _parted(text: str, field: str) -> tuple[str, int | None]:
    """Host and port. An IPv6 address with a port stands in brackets; without one it need not."""
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise Invalid(f"{field} has a bracket too many or too few: {text!r:.80}.", field=field)
        written = rest.removeprefix(":") if rest else None
    elif text.count(":") == 1:
        host, _, written = text.partition(":")
    else:
        host, written = text, None
    if written is None:
        return host, None
    if not written.isdecimal() or not written.isascii() or not 1 <= int(written) <= 65_535:
        raise Invalid(f"{field} must have a port from 1 to 65535 after the colon, not {written!r:.20}.", field=field)
    return host, int(written)


def _is_label(part: str) -> bool:
    return part.isascii() and part.replace("-", "").replace("_", "").isalnum() and part[0] != "-" and part[-1] != "-"
