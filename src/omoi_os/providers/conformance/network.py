"""Only the sandbox's own loopback and the gateway can be reached."""

from omoi_os.conformance import collector, expect
from omoi_os.providers.conformance import host
from omoi_os.providers.conformance.bench import Bench
from omoi_os.providers.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)

_CONNECT = """
import json, socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5).close()
    print(json.dumps('connected'))
except OSError as error: print(json.dumps(str(error)))
"""
_CONNECT_ABSTRACT = """
import json, socket, sys
try:
    socket.socket(socket.AF_UNIX).connect(chr(0) + sys.argv[1])
    print(json.dumps('connected'))
except OSError as error: print(json.dumps(str(error)))
"""
_RESOLVE = """
import json, socket, sys
try: print(json.dumps([item[4][0] for item in socket.getaddrinfo(sys.argv[1], 443)]))
except OSError: print('[]')
"""
_SERVE = """
import os, signal, socket
server = socket.create_server(('127.0.0.1', 0))
open('port.new', 'w').write(str(server.getsockname()[1])); os.rename('port.new', 'port')
while True: signal.pause()
"""


@_check(Guarantee.NETWORK)
async def services_of_the_host_are_out_of_reach(bench: Bench) -> None:
    """A service on the host's loopback cannot be connected to."""
    with host.listener() as port:
        answer = await bench.ask(await bench.shared(), _CONNECT, "127.0.0.1", str(port))
    expect(answer != "connected", "a service on the host's loopback was reached")


@_check(Guarantee.NETWORK)
async def abstract_sockets_of_the_host_are_out_of_reach(bench: Bench) -> None:
    """A unix socket without a file, which belongs to a network namespace, cannot be connected to."""
    with host.abstract_listener() as name:
        answer = await bench.ask(await bench.shared(), _CONNECT_ABSTRACT, name)
    expect(answer != "connected", "an abstract socket of the host was reached")


@_check(Guarantee.NETWORK)
async def services_of_other_sandboxes_are_out_of_reach(bench: Bench) -> None:
    """A service on another sandbox's loopback cannot be connected to, while its own can."""
    serving = await bench.make(bench.code(_SERVE))
    port = await bench.file_of(serving, "port")
    own = await bench.ask(serving, _CONNECT, "127.0.0.1", port)
    other = await bench.ask(await bench.shared(), _CONNECT, "127.0.0.1", port)
    expect(own == "connected", f"a sandbox's own loopback does not work: {own}")
    expect(other != "connected", "a service on another sandbox's loopback was reached")


@_check(Guarantee.NETWORK)
async def the_clouds_metadata_is_out_of_reach(bench: Bench) -> None:
    """The address where clouds serve a machine's credentials cannot be reached."""
    address, port = bench.targets.metadata
    answer = await bench.ask(await bench.shared(), _CONNECT, address, str(port))
    expect(answer != "connected", f"{address} port {port} was reached")


@_check(Guarantee.NETWORK)
async def names_of_the_internet_are_not_resolved(bench: Bench) -> None:
    """Names are not resolved, because a lookup can carry data out."""
    found = await bench.ask(await bench.shared(), _RESOLVE, bench.targets.name)
    expect(not found, f"{bench.targets.name} was resolved to {', '.join(found)}")
