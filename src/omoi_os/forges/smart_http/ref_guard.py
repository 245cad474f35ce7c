"""Makes git ask before it moves a ref, while it holds the ref's lock.

A push may take long, so what was true when it started may no longer be. The verifier holds the same lock while it
stores its verdict (`Forge.held`), so a push either arrives before the verdict, which then sees it, or is refused.
"""

import asyncio
import contextlib
import logging
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from omoi_os.errors import ForgeError

log = logging.getLogger(__name__)

_HOOK = "reference-transaction"

#: Git runs this hook at each step of a ref transaction and holds the locks in the step `prepared`. Without an answer,
#: for example because the server has ended, no ref moves.
_SCRIPT = """#!/bin/sh
[ "$1" = prepared ] || exit 0
{ while read -r update; do printf '%s\\n' "$update"; done; echo; } >"/dev/fd/$OMOI_ASK" || exit 1
read -r answer reason <"/dev/fd/$OMOI_ANSWER" || exit 1
[ "$answer" = yes ] && exit 0
echo "$reason" >&2
exit 1
"""


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """One ref that is about to move. A commit of zeros means that the ref does not exist before or after."""

    old: str
    new: str
    ref: str


#: Returns why these refs may not move, or None.
Decide = Callable[[Sequence[RefUpdate]], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class Guard:
    """Configuration, variables and descriptors that make git ask before it moves a ref."""

    config: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    descriptors: tuple[int, ...] = ()
    #: Why refs were not moved so far. Git ends at the first refusal, and its client does not get the reason from it.
    refusals: list[str] = field(default_factory=list)


@asynccontextmanager
async def guarding(decide: Decide, *, folder: Path) -> AsyncIterator[Guard]:
    """Answer git's questions while the block runs. `folder` contains the hook."""
    hooks = await asyncio.to_thread(_hooks, folder)
    asked, ask = os.pipe()
    answer, answering = os.pipe()
    refusals: list[str] = []
    replying = asyncio.create_task(_reply(decide, refusals, asked=asked, answering=answering))
    try:
        yield Guard(
            config={"core.hooksPath": str(hooks)},
            variables={"OMOI_ASK": str(ask), "OMOI_ANSWER": str(answer)},
            descriptors=(ask, answer),
            refusals=refusals,
        )
    finally:
        replying.cancel()
        await asyncio.gather(replying, return_exceptions=True)
        for descriptor in (ask, answer, answering):
            os.close(descriptor)


async def _reply(decide: Decide, refusals: list[str], *, asked: int, answering: int) -> None:
    """Answer each question and collect the refusals."""
    reader = asyncio.StreamReader()
    pipe = os.fdopen(asked, "rb", buffering=0)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    updates: list[RefUpdate] = []
    try:
        while line := await reader.readline():
            if line.strip():
                old, new, ref = line.decode(errors="replace").rstrip("\n").split(" ", 2)
                updates.append(RefUpdate(old, new, ref))
                continue
            try:
                reason = await decide(updates)
            except Exception:
                log.exception("a push could not be checked")
                reason = "the platform could not check this push; push again"
            updates = []
            if reason:
                refusals.append(reason)
            os.write(answering, f"no {reason}\n".encode() if reason else b"yes\n")
    finally:
        transport.close()


def _hooks(folder: Path) -> Path:
    """Return the folder with the hook. Git ignores a hook that it cannot run, so raise `ForgeError` in that case."""
    hook = folder / _HOOK
    with contextlib.suppress(OSError):
        if hook.read_text() == _SCRIPT and os.access(hook, os.X_OK):
            return folder
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = folder / f".{_HOOK}.{secrets.token_hex(4)}"
    new.write_text(_SCRIPT)
    new.chmod(0o700)
    new.replace(hook)
    if not os.access(hook, os.X_OK):
        raise ForgeError(f"{hook} cannot be run, so nothing can be pushed: mount its file system without noexec")
    return folder
