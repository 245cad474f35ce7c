"""Reads the commands of a push and judges them before any of it reaches git."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import StreamReader

from omoi_os.errors import RequestError
from omoi_os.gateway.callers import Caller
from omoi_os.sandboxes.lifecycle import Purpose

MAX_COMMANDS = 16
#: A shallow clone lists its boundary commits before the commands.
_MAX_LINES = 1024
_FLUSH = b"0000"
_COMMAND = re.compile(
    rb"(?P<old>[0-9a-f]{40,64}) (?P<new>[0-9a-f]{40,64}) (?P<ref>[^\x00\n]+)(\x00(?P<wants>.*))?\n?", re.S
)
_SHALLOW = re.compile(rb"shallow [0-9a-f]{40,64}\n?")


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


async def read_push(body: StreamReader) -> Push:
    """Read the commands and leave the pack that follows unread. Raises `RequestError`."""
    raw = bytearray()
    commands: list[Command] = []
    wants: frozenset[bytes] = frozenset()
    for _ in range(_MAX_LINES):
        line = await _read_packet(body, raw)
        if line is None:
            return Push(tuple(commands), wants, bytes(raw))
        if _SHALLOW.fullmatch(line):
            continue
        match = _COMMAND.fullmatch(line)
        if match is None or len(commands) == MAX_COMMANDS:
            raise RequestError(f"a push is at most {MAX_COMMANDS} plain commands, unsigned and without options")
        if not commands:
            wants = frozenset((match["wants"] or b"").split())
        commands.append(Command(ref=match["ref"].decode(errors="replace"), new=match["new"].decode()))
    raise RequestError(f"a push starts with at most {_MAX_LINES} lines")


async def _read_packet(body: StreamReader, raw: bytearray) -> bytes | None:
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


def may_push(caller: Caller) -> bool:
    """Return whether a sandbox of this purpose may push."""
    return caller.purpose is Purpose.WORK


def why_not(push: Push, caller: Caller) -> str | None:
    """Return the reason to refuse the whole push, or None."""
    own = {_head(caller.wip)} | ({_head(caller.branch)} if caller.branch else set())
    for command in push.commands:
        if command.ref not in own:
            return f"this sandbox may push only to {' and '.join(sorted(own))}"
        if _is_default(command.ref, caller):
            return f"a sandbox may not push to the default branch, {caller.repository.default_branch}"
        if command.deletes:
            return "a sandbox may not delete branches"
    return None


def _is_default(ref: str, caller: Caller) -> bool:
    """Return whether a ref is the default branch, in any case: some file systems ignore it."""
    return ref.lower() == _head(caller.repository.default_branch).lower()


def new_head(push: Push, caller: Caller) -> str | None:
    """Return the commit that the push moves the task's branch to, or None if it does not move it."""
    own = _head(caller.branch or "")
    return next((command.new for command in push.commands if command.ref == own), None)


def may_rewrite(push: Push, caller: Caller) -> bool:
    """Return whether history may be replaced: only on the branch for unfinished work."""
    return all(command.ref == _head(caller.wip) for command in push.commands)


def report(push: Push, reason: str) -> bytes | None:
    """Return the refusal in git's protocol, which the client shows for each ref; None if it asked for no report."""
    if not push.wants & {b"report-status", b"report-status-v2"}:
        return None
    lines = [b"unpack ok\n", *(f"ng {command.ref} {reason}\n".encode() for command in push.commands)]
    status = b"".join(_packet(line) for line in lines) + _FLUSH
    if b"side-band-64k" not in push.wants:
        return status
    return _packet(b"\x01" + status) + _FLUSH


def _packet(line: bytes) -> bytes:
    return f"{len(line) + 4:04x}".encode() + line


def _head(branch: str) -> str:
    return f"refs/heads/{branch}"
