"""Keeps a task's branch from moving after the task has left `running`.

The state is checked twice: before a push is received, and again while git holds the ref's lock, because a push may take
long. The verifier holds the same lock while it stores its verdict (`Forge.held`), so a push either arrives before the
verdict, which then sees it, or is refused.
"""

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from omoi_os.db.base import Sessions
from omoi_os.errors import ForgeError
from omoi_os.gateway.callers import Caller
from omoi_os.sandboxes.lifecycle import ENDED
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task

#: States in which the agent works. A worker may push before its first event has arrived.
_OPEN = frozenset({TaskState.ASSIGNED, TaskState.RUNNING})

_HOOK = "reference-transaction"

#: Git runs this hook at each step of a ref transaction and holds the locks in the step `prepared`. Without an answer,
#: for example because the gateway has ended, no ref moves.
_SCRIPT = """#!/bin/sh
[ "$1" = prepared ] || exit 0
asks=
while read -r old new ref; do
    if [ "$ref" = "$OMOI_GUARDED_REF" ] && [ "$new" = "$OMOI_GUARDED_COMMIT" ]; then asks=1; fi
done
[ -n "$asks" ] || exit 0
echo >"/dev/fd/$OMOI_ASK" || exit 1
read -r answer reason <"/dev/fd/$OMOI_ANSWER" || exit 1
[ "$answer" = yes ] && exit 0
echo "$reason" >&2
exit 1
"""


@dataclass(frozen=True, slots=True)
class Guard:
    """Configuration, variables and descriptors that make git ask before it moves the branch."""

    config: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    descriptors: tuple[int, ...] = ()


async def why_closed(sessions: Sessions, caller: Caller) -> str | None:
    """Return why the task's branch may no longer move, or None. Always reads the database."""
    query = select(Task.status, Task.fence, Sandbox.fence, Sandbox.status).join(Sandbox, Sandbox.task_id == Task.id)
    async with sessions() as session:
        row = (await session.execute(query.where(Sandbox.id == caller.sandbox_id))).one_or_none()
    if row is None or row[1] != row[2] or row[3] in ENDED:
        return "this sandbox has ended or was superseded"
    if row[0] not in _OPEN:
        return f"the task is {row[0]}, so its branch no longer changes: push unfinished work to wip/{caller.task_id}"
    return None


@asynccontextmanager
async def guarding(sessions: Sessions, caller: Caller, *, folder: Path, commit: str) -> AsyncIterator[Guard]:
    """Answer git's questions while the block runs. `folder` contains the hook."""
    hooks = await asyncio.to_thread(_hooks, folder)
    asked, ask = os.pipe()
    answer, answering = os.pipe()
    replying = asyncio.create_task(_reply(sessions, caller, asked=asked, answering=answering))
    try:
        yield Guard(
            config={"core.hooksPath": str(hooks)},
            variables={
                "OMOI_GUARDED_REF": f"refs/heads/{caller.branch}",
                "OMOI_GUARDED_COMMIT": commit,
                "OMOI_ASK": str(ask),
                "OMOI_ANSWER": str(answer),
            },
            descriptors=(ask, answer),
        )
    finally:
        replying.cancel()
        await asyncio.gather(replying, return_exceptions=True)
        for descriptor in (ask, answer, answering):
            os.close(descriptor)


async def _reply(sessions: Sessions, caller: Caller, *, asked: int, answering: int) -> None:
    """Answer each question from the current state in the database."""
    reader = asyncio.StreamReader()
    pipe = os.fdopen(asked, "rb", buffering=0)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        while await reader.readline():
            try:
                reason = await why_closed(sessions, caller)
            except (SQLAlchemyError, OSError):
                reason = "the platform's database does not respond; push again"
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
