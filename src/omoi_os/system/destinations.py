"""Destinations that people name: only public addresses, unless the operator has named the host.

A name is resolved once and exactly the checked addresses are dialed, so the name cannot lead elsewhere in between.
"""

import asyncio
import errno
import re
import socket
from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from aiohttp import TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult

from omoi_os.errors import DestinationRefused

Address = IPv4Address | IPv6Address

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\.?")
#: The last label of `127.1`, `2130706433` or `0x7f000001`, which some resolvers read as an address.
_NUMBER = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)\.?")
#: Plain paths only: programs disagree on how to read others.
_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)*/?")

_RESOLVE_SECONDS = 10.0


def check_url(url: str, *, private: Collection[str], schemes: Collection[str] = ("https",)) -> str:
    """Return the URL in canonical form, without a slash at its end. Raise `DestinationRefused` if it may not be used.

    Hosts in `private` may be in private networks, and with `https` in `schemes` they may use `http` too.
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise DestinationRefused("must be a URL such as https://host/path") from None
    name = check_host(host, private=private)
    allowed = {*schemes, *(["http"] if host in private and "https" in schemes else [])}
    if parts.scheme not in allowed:
        raise DestinationRefused(f"must start with {' or '.join(f'{scheme}://' for scheme in sorted(schemes))}")
    if "@" in parts.netloc or parts.query or parts.fragment or not _PATH.fullmatch(parts.path) or ".." in parts.path:
        raise DestinationRefused("must have a host and a plain path only: no user, password, query or fragment")
    if "[" in parts.netloc and ":" not in name:
        raise DestinationRefused("must have an IPv6 address between its brackets")
    shown = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{shown}{f':{port}' if port is not None else ''}{parts.path}".rstrip("/")


def check_host(host: str, *, private: Collection[str]) -> str:
    """Return a host name or address in canonical form. Raise `DestinationRefused` for an address out of bounds."""
    address = _literal(host)
    if address is not None:
        _require(address, host, private=private)
        return str(address)
    if not _NAME.fullmatch(host) or _NUMBER.fullmatch(host):
        raise DestinationRefused(f"{host[:100]!r} is neither a host name nor an IP address in its usual form")
    return host


async def resolve(host: str, port: int, *, private: Collection[str]) -> tuple[str, ...]:
    """Return the addresses to dial. Raise `DestinationRefused` unless all of them may be reached, or `OSError`."""
    name = check_host(host, private=private)
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(_RESOLVE_SECONDS):
        found = await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    addresses = tuple(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
    for address in addresses:
        _require(ip_address(address), host, private=private)
    return addresses


class CheckedResolver(AbstractResolver):
    """Resolves names for aiohttp, which then dials exactly these addresses.

    aiohttp does not ask it for addresses in URLs, so check each URL with `check_url` first.
    """

    def __init__(self, private: Collection[str]) -> None:
        self._private = private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the checked addresses of a host. Raise `OSError`, as aiohttp expects."""
        try:
            addresses = await resolve(host, port, private=self._private)
        except DestinationRefused as error:
            raise OSError(errno.EACCES, str(error)) from None
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    async def close(self) -> None:
        """Do nothing: there is no connection."""


def checked_connector(private: Collection[str]) -> TCPConnector:
    """Return a connector that dials only checked addresses. It must be used with checked URLs."""
    return TCPConnector(resolver=CheckedResolver(private), limit=0, family=socket.AF_UNSPEC)


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _require(address: Address, host: str, *, private: Collection[str]) -> None:
    """Raise `DestinationRefused` unless the address is public, or private and its host is in `private`."""
    for each in (address, *_embedded(address)):
        never = each.is_link_local or each.is_multicast or each.is_unspecified or _has_scope(each)
        if never or not (_is_public(each) or host.lower() in private):
            raise DestinationRefused(
                f"{host} is not a public address; an operator can allow a host in a private network"
                " with OMOI_EGRESS_PRIVATE"
            )


def _has_scope(address: Address) -> bool:
    return isinstance(address, IPv6Address) and address.scope_id is not None


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address) and (address.is_site_local or address.ipv4_mapped is not None):
        # A mapped address is as public as the IPv4 address in it, which is checked too.
        return address.ipv4_mapped is not None
    return address.is_global and not address.is_reserved


def _embedded(address: Address) -> tuple[IPv4Address, ...]:
    """Return the IPv4 addresses inside an IPv6 address that a gateway may forward to."""
    if isinstance(address, IPv4Address):
        return ()
    inside = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()))
    return tuple(each for each in inside if each is not None)
