"""Attacks 19 and 23: reaching anything but the gateway, by any protocol."""

import fcntl
import json
import secrets
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omoi_os.conformance import collector, expect
from omoi_os.providers.conformance import Bench, Check, Guarantee
from tests.attacks.tries import expect_none
from tests.providers.weak import is_bare

REACH: list[Check] = []
CARRY: list[Check] = []
_reach, _carry = collector(REACH), collector(CARRY)

#: One address of each kind that must lead nowhere: of a private network, of clouds' metadata, of Docker's bridge, of
#: the internet, and of IPv6.
ROUTES = {
    "private": "192.168.0.1",
    "metadata": "169.254.169.254",
    "bridge": "172.17.0.1",
    "internet": "1.1.1.1",
    "unique_local": "fd00::1",
    "ipv6_internet": "2606:4700:4700::1111",
}
_SIOCGIFADDR = 0x8915

_CONNECT = """
import json, socket, sys
found = []
for target in json.loads(sys.argv[1]):
    with socket.socket(socket.AF_INET6 if ':' in target[0] else socket.AF_INET) as connection:
        connection.settimeout(5)
        try: connection.connect(tuple(target)); found.append(target[0])
        except OSError: pass
print(json.dumps(found))
"""
#: Connecting a datagram's socket sends nothing; it fails where no route leads.
_ROUTES = """
import json, socket, sys
found = []
for name, address in json.loads(sys.argv[1]).items():
    with socket.socket(socket.AF_INET6 if ':' in address else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try: probe.connect((address, 53)); found.append(name)
        except OSError: pass
print(json.dumps(found))
"""
_SEND = """
import json, socket, sys
for target in json.loads(sys.argv[1]):
    with socket.socket(socket.AF_INET6 if ':' in target[0] else socket.AF_INET, socket.SOCK_DGRAM) as sender:
        try: sender.sendto(bytes.fromhex(sys.argv[2]), tuple(target))
        except OSError: pass
print('null')
"""
_PING = """
import json, os, socket, struct, sys
body = os.urandom(16)
packet = struct.pack('!BBHHH', 8, 0, 0, 7, 1) + body
words = struct.unpack(f'!{len(packet) // 2}H', packet)
total = sum(words); total = (total >> 16) + (total & 0xffff); total += total >> 16
packet = packet[:2] + struct.pack('!H', ~total & 0xffff) + packet[4:]
received = []
for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
    try:
        with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as pinger:
            pinger.settimeout(2)
            pinger.sendto(packet, (sys.argv[1], 0))
            while body not in pinger.recv(4096): pass
            received.append(kind)
    except OSError: pass
print(json.dumps(received))
"""
_FAMILIES = """
import json, socket, sys
made = []
for name, numbers in json.loads(sys.argv[1]).items():
    try: socket.socket(*numbers).close(); made.append(name)
    except OSError: pass
print(json.dumps(made))
"""
_OUTSIDE = {"packet": (17, 3, 0), "vsock": (40, 1, 0), "raw": (2, 3, 255)}


def ipv4_addresses() -> list[str]:
    """The host's own, loopback's not among them."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asking, _SIOCGIFADDR, struct.pack("256s", name.encode()))
            except OSError:
                continue
            found.append(socket.inet_ntoa(answer[20:24]))
    return [address for address in found if not address.startswith("127.")]


def ipv6_addresses() -> list[tuple[str, int]]:
    """The host's own, each with its interface's number, loopback's not among them."""
    table = Path("/proc/net/if_inet6")
    rows = [line.split() for line in table.read_text().splitlines()] if table.exists() else []
    return [
        (socket.inet_ntop(socket.AF_INET6, bytes.fromhex(row[0])), int(row[1], 16)) for row in rows if row[5] != "lo"
    ]


def _has_route(address: str) -> bool:
    """Whether the host itself knows a way there."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 53))
        except OSError:
            return False
    return True


@contextmanager
def _everywhere(kind: socket.SocketKind) -> Iterator[socket.socket]:
    """A service of the host on all its addresses of both kinds."""
    with socket.socket(socket.AF_INET6, kind) as server:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.bind(("::", 0))
        yield server


@_reach(Guarantee.NETWORK)
async def no_route_leads_anywhere(bench: Bench) -> None:
    """Nothing can be sent to private networks, clouds' metadata, Docker's bridge or the internet."""
    tried = {kind: address for kind, address in ROUTES.items() if not is_bare(bench) or _has_route(address)}
    expect_none(bench, tried, await bench.ask(await bench.shared(), _ROUTES, json.dumps(tried)))


@_reach(Guarantee.NETWORK)
async def no_address_of_the_host_answers(bench: Bench) -> None:
    """A service on all addresses of the host, unique local and link-local ones included, cannot be connected to."""
    with _everywhere(socket.SOCK_STREAM) as server:
        server.listen()
        port = server.getsockname()[1]
        targets: list[tuple[str | int, ...]] = [(address, port) for address in ipv4_addresses()]
        targets += [(address, port, 0, index) for address, index in ipv6_addresses()]
        found = await bench.ask(await bench.shared(), _CONNECT, json.dumps(targets))
    expect_none(bench, [str(target[0]) for target in targets], found)


@_carry(Guarantee.NETWORK)
async def a_question_to_a_name_server_arrives_nowhere(bench: Bench) -> None:
    """A datagram in the shape of a look-up, with a secret as the name, is received by nobody."""
    secret = secrets.token_bytes(16)
    label = secret.hex().encode()
    question = struct.pack("!6H", 1, 0x100, 1, 0, 0, 0) + bytes([len(label)]) + label + b"\0" + struct.pack("!2H", 1, 1)
    with _everywhere(socket.SOCK_DGRAM) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        targets = [(address, port) for address in ("127.0.0.1", *ipv4_addresses())]
        await bench.ask(await bench.shared(), _SEND, json.dumps(targets), question.hex())
        expect(not _received(server), "a datagram with a secret was received by the host")


@_carry(Guarantee.NETWORK)
async def no_echo_comes_back(bench: Bench) -> None:
    """ICMP, whose packets carry whatever they are given, leads nowhere."""
    received = await bench.ask(await bench.shared(), _PING, ipv4_addresses()[0])
    expect(not received, "the host answered an echo request")


@_carry(Guarantee.NETWORK)
async def sockets_that_no_namespace_holds_cannot_be_made(bench: Bench) -> None:
    """Nor those that see or forge the packets of others."""
    made = await bench.ask(await bench.shared(), _FAMILIES, json.dumps(_OUTSIDE))
    expect_none(bench, _OUTSIDE, made, only_root=("packet", "raw"))


def _received(server: socket.socket) -> bool:
    try:
        return bool(server.recv(4096))
    except BlockingIOError:
        return False
