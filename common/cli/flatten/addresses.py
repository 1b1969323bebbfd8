"""Which network addresses the tool may speak to: a name is resolved once, checked, and only that address is used."""

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from common.cli.flatten.plan import FlattenFailed

Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a host name; raises OSError."""

# Reachable from everywhere, and yet the metadata service of the machine one stands on.
_METADATA: Final = frozenset({"168.63.129.16", "100.100.100.200", "fd00:ec2::254", "192.0.0.192"})


class AddressRefused(FlattenFailed):
    """The address is not one that a public source of documents has."""


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order in which they are to be tried."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: str) -> bool:
    """False for private, loopback, link-local, shared, reserved, multicast and metadata addresses, also where an IPv6
    address only wraps such an IPv4 one.
    """
    ip = ip_address(address.split("%", 1)[0])
    if address in _METADATA or not _is_global(ip):
        return False
    return not isinstance(ip, IPv6Address) or all(_is_global(inner) for inner in _wrapped(ip))


def _is_global(ip: IPv4Address | IPv6Address) -> bool:
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and str(ip) not in _METADATA


def _wrapped(ip: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses inside: mapped, 6to4, Teredo, and NAT64's well-known prefix."""
    inner = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
    if ip.packed.startswith(b"\x00\x64\xff\x9b"):
        inner.append(IPv4Address(ip.packed[-4:]))
    return [address for address in inner if address is not None]


def checked(host: str, port: int, *, allow_private: bool, resolver: Resolve = resolve) -> str:
    """One address of the host to connect to. Raises AddressRefused when any of its addresses is not public, unless
    `allow_private`; FlattenFailed when it has none.
    """
    try:
        addresses = resolver(host, port)
    except (OSError, UnicodeError) as error:
        raise FlattenFailed(f"The host {host} cannot be found ({error}).") from error
    if not addresses:
        raise FlattenFailed(f"The host {host} has no address.")
    refused = [address for address in addresses if not is_public(address)]
    if refused and not allow_private:
        raise AddressRefused(
            f"{host} is at {refused[0]}, which is no public address. Give --allow-private to fetch from it anyway."
        )
    return addresses[0]
