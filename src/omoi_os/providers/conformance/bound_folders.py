"""Folders of this machine are mounted: that of the gateway socket, and the mirror."""

import asyncio
from pathlib import Path

from omoi_os.conformance import collector, expect
from omoi_os.protocol import paths
from omoi_os.providers.base import SandboxRef
from omoi_os.providers.conformance import host
from omoi_os.providers.conformance.bench import Bench
from omoi_os.providers.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)

_CALL = """
import json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(20)
connection.connect(sys.argv[1])
print(json.dumps(connection.recv(16).decode()))
"""
_WRITE = """
import json, sys
try: open(sys.argv[1] + '/new', 'w').close(); print('true')
except OSError: print('false')
"""


@_check(Guarantee.BOUND_FOLDERS)
async def the_gateway_socket_works_after_a_restart_of_the_gateway(bench: Bench) -> None:
    """A socket in the mounted folder can be reached, and so can one that replaces it."""
    with host.folder() as folder:
        ref = await bench.make(gateway_folder=folder)
        for word in ("first", "second"):
            heard = await _call(bench, ref, folder / paths.GATEWAY_SOCKET, word)
            expect(heard == word, f"the {word} listener sent {word!r}, and {heard!r} was received")
        expect(
            not await bench.ask(ref, _WRITE, paths.GATEWAY_FOLDER),
            "the gateway socket's folder can be written from inside",
        )


@_check(Guarantee.BOUND_FOLDERS)
async def the_mirror_can_be_read_but_not_written(bench: Bench) -> None:
    """The folder of the mirror is mounted read-only."""
    with host.folder() as folder:
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
        ref = await bench.make(mirror=folder)
        read = await bench.exec(ref, ["cat", f"{paths.MIRROR}/HEAD"])
        expect(read.stdout == b"ref: refs/heads/main\n", f"the mirror was read as {read}")
        expect(not await bench.ask(ref, _WRITE, paths.MIRROR), "the mirror can be written from inside")


async def _call(bench: Bench, ref: SandboxRef, path: Path, word: str) -> str:
    """Send a text to a client that connects from inside, and return what it received."""
    with host.gateway_listener(path) as listener:
        asking = asyncio.ensure_future(bench.ask(ref, _CALL, f"{paths.GATEWAY_FOLDER}/{paths.GATEWAY_SOCKET}"))
        accepting = asyncio.ensure_future(asyncio.get_running_loop().sock_accept(listener))
        await asyncio.wait([asking, accepting], return_when=asyncio.FIRST_COMPLETED)
        if accepting.done():
            with accepting.result()[0] as connection:
                connection.sendall(word.encode())
        else:
            accepting.cancel()
        return str(await asking)
