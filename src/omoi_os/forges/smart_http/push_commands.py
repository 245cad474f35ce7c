"""Reads the commands of a push before any of it reaches git, and refuses a push in git's own protocol."""

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from omoi_os.errors import RequestError

MAX_COMMANDS = 16
#: A shallow clone lists its boundary commits before the commands.
_MAX_SHALLOW_LINES = 1024
_FLUSH = b"0000"
#: How much of a report fits into one packet.
_BAND_BYTES = 60_000
_COMMAND = re.compile(
    rb"(?P<old>[0-9a-f]{40,64}) (?P<new>[0-9a-f]{40,64}) (?P<ref>[^\x00\n]+)(\x00(?P<wants>.*))?\n?", re.S
)
_SHALLOW = re.compile(rb"shallow [0-9a-f]{40,64}\n?")


class Reader(Protocol):
    """The body of a request."""

    async def readexactly(self, n: int, /) -> bytes:
        """Return the next `n` bytes. Raise `asyncio.IncompleteReadError` if the body ends before."""


@dataclass(frozen=True, slots=True)
class Command:
    """Move one ref."""

    ref: str
    new: str

    @property
    def deletes(self) -> bool:
        """Whether the ref is to be deleted."""
        return not self.new.strip("0")


@dataclass(frozen=True, slots=True)
class Push:
    """The commands of a push, and the bytes they were read from."""

    commands: Sequence[Command]
    wants: frozenset[bytes]
    raw: bytes

    @property
    def commits(self) -> dict[str, str]:
        """Return the commits that the push moves refs to, by ref."""
        return {command.ref: command.new for command in self.commands}

    def refs(self, *, limit: int = 5) -> str:
        """Return the names of the first refs for a log or an audit entry."""
        return ", ".join(command.ref for command in self.commands[:limit])


async def read_push(body: Reader, *, max_commands: int = MAX_COMMANDS) -> Push:
    """Read the commands and leave the pack that follows unread. Raises `RequestError`."""
    raw = bytearray()
    commands: list[Command] = []
    wants: frozenset[bytes] = frozenset()
    max_lines = _MAX_SHALLOW_LINES + max_commands
    for _ in range(max_lines):
        line = await _read_packet(body, raw)
        if line is None:
            return Push(tuple(commands), wants, bytes(raw))
        if _SHALLOW.fullmatch(line):
            continue
        match = _COMMAND.fullmatch(line)
        if match is None or len(commands) == max_commands:
            raise RequestError(f"a push may update at most {max_commands} refs, without a signature or push options")
        if not commands:
            wants = frozenset((match["wants"] or b"").split())
        commands.append(Command(ref=match["ref"].decode(errors="replace"), new=match["new"].decode()))
    raise RequestError(f"a push may list at most {max_lines} refs and shallow commits")


async def _read_packet(body: Reader, raw: bytearray) -> bytes | None:
    """Return one line and append it to `raw`; None for the flush packet that ends the commands."""
    try:
        length = await body.readexactly(4)
        raw += length
        if length == _FLUSH:
            return None
        size = int(length, 16) - 4
        if size <= 0:
            raise ValueError("not a data packet")
        line = await body.readexactly(size)
    except (asyncio.IncompleteReadError, ValueError) as error:
        raise RequestError("this is not a git push") from error
    raw += line
    return line


def report(push: Push, reason: str, *, moved: Collection[str] = ()) -> bytes | None:
    """Return the refusal in git's protocol, which the client shows for each ref; None if it asked for no report.

    The refs in `moved` are reported as pushed.
    """
    if not push.wants & {b"report-status", b"report-status-v2"}:
        return None
    results = (f"ok {ref}\n" if ref in moved else f"ng {ref} {reason}\n" for ref in push.commits)
    lines = [b"unpack ok\n", *(result.encode() for result in results)]
    status = b"".join(_packet(line) for line in lines) + _FLUSH
    if b"side-band-64k" not in push.wants:
        return status
    pieces = (status[at : at + _BAND_BYTES] for at in range(0, len(status), _BAND_BYTES))
    return b"".join(_packet(b"\x01" + piece) for piece in pieces) + _FLUSH


def _packet(line: bytes) -> bytes:
    return f"{len(line) + 4:04x}".encode() + line
