"""Serves the repositories of projects to people over git's smart HTTP protocol."""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from omoi_os.api.git import push_rules
from omoi_os.api.git.callers import Caller, Callers
from omoi_os.api.git.client import Client, ClientGone
from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.errors import BadToken, NotReady, OmoiError, RequestError, TooMany
from omoi_os.forges import registry
from omoi_os.forges.bare import refs
from omoi_os.forges.bare.git import PUSH_MEMORY_BYTES
from omoi_os.forges.mirrors import Mirrors
from omoi_os.forges.smart_http import calls, http_backend, push_commands, quota
from omoi_os.forges.smart_http.push_commands import Push
from omoi_os.forges.smart_http.ref_guard import guarding
from omoi_os.http import wire
from omoi_os.projects.addresses import repository_of
from omoi_os.sandboxes import site_owners
from omoi_os.system import disk
from omoi_os.system.slots import Slots

log = logging.getLogger(__name__)

#: How many git requests of one person, and of one process, are served at a time. Pushes of one person come one by one,
#: because each may use as much memory as a push is allowed.
MAX_EACH = 4
MAX_ALL = 32
#: How many branches and tags one push may move.
MAX_COMMANDS = 1000
#: How long a push waits while the disk is full.
FULL_DISK_SECONDS = 60.0

_CLIENT = "person"
_SIGN_IN = {"WWW-Authenticate": 'Basic realm="OmoiOS", charset="UTF-8"'}


class GitServer:
    """The application below `/git`. Errors are plain text, which git shows to its user."""

    def __init__(self, settings: Settings, sessions: Sessions, callers: Callers) -> None:
        self._settings, self._sessions, self._callers = settings, sessions, callers
        self._slots, self._push_slots = Slots(MAX_EACH), Slots(1)
        self._all = asyncio.Semaphore(MAX_ALL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of a git client."""
        client = Client(scope, receive, send)
        try:
            await self._serve(client)
        except ClientGone:
            await client.wait_until_gone()
        except (OmoiError, DBAPIError, PoolTimeoutError, OSError) as error:
            if client.has_started:
                # The answer is incomplete, and the client must not take it for the whole.
                log.warning("git: an answer was cut off: %s", error)
                wire.cut(scope)
                await client.wait_until_gone()
                return
            await client.respond(_refusal(error))

    async def _serve(self, client: Client) -> None:
        caller = await self._callers.identify(client.method, client.raw_path, client.service, client.headers)
        if caller.call.method == "POST" and client.headers.get("content-type") != caller.call.content_type:
            # A browser may know the key, and a page of another site may send a form with it.
            raise RequestError(f"send the Content-Type {caller.call.content_type}, as git clients do")
        wire.allow_long_body(client.scope)
        mirrors, git_dir = await self._open(caller)
        if caller.call.service == calls.PUSH:
            await disk.require_space(
                self._settings.data_dir, min_free_gb=self._settings.min_free_gb, seconds=FULL_DISK_SECONDS
            )
        async with self._slot(caller):
            if client.is_gone():
                raise ClientGone("the client has disconnected while it waited")
            if caller.call.is_push:
                await self._receive(client, caller, mirrors, git_dir)
                return
            async with http_backend.answering(
                calls.variables(caller.call, git_dir, client.headers, client=_CLIENT),
                config=calls.read_config(mirrors),
                body=client.body.pieces(limit=calls.max_body_bytes(mirrors)),
            ) as answer:
                await client.pass_back(answer)

    async def _open(self, caller: Caller) -> tuple[Mirrors, Path]:
        """Return the project's repository, and create it if no task has needed it yet."""
        project, repository = caller.project, repository_of(caller.project)
        mirrors = registry.make_mirrors(project.forge, self._settings)
        if await asyncio.to_thread(mirrors.find, repository) is None:
            async with self._sessions() as session:
                if not await site_owners.has_repositories(session, site=self._settings.site):
                    raise NotReady("this server does not have the repositories: use the one on which the gateway runs")
            await registry.make_forge(project.forge, self._settings).ensure_repository(repository)
        return mirrors, await mirrors.open(repository)

    @asynccontextmanager
    async def _slot(self, caller: Caller) -> AsyncIterator[None]:
        person = str(caller.user.id)
        async with self._slots.one(person):
            if self._all.locked():
                raise TooMany("too many git requests are being served; try again in a moment")
            async with self._all:
                if not caller.call.is_push:
                    yield
                    return
                async with self._push_slots.one(person):
                    yield

    async def _receive(self, client: Client, caller: Caller, mirrors: Mirrors, git_dir: Path) -> None:
        """Check a push, then let git receive it. It is durable before the client gets its answer."""
        if "Content-Encoding" in client.headers:
            raise RequestError("send the push without Content-Encoding")
        push = await push_commands.read_push(client.body, max_commands=MAX_COMMANDS)
        room, reason = await self._judge(push, caller, git_dir)
        if reason is not None:
            await client.body.drain()
            await client.respond(_push_refusal(push, reason))
            return
        repository = repository_of(caller.project)
        await mirrors.prepare_push(repository, push.commits)
        rewrites = await self._may_rewrite(push, caller, git_dir)
        config = calls.push_config(mirrors, max_bytes=room, rewrites=rewrites, deletes=True)
        decide = push_rules.recorded_moves(self._sessions, caller)
        async with (
            guarding(decide, folder=self._settings.git_hooks_dir) as guard,
            http_backend.answering(
                {**calls.variables(caller.call, git_dir, client.headers, client=_CLIENT), **guard.variables},
                config={**config, **guard.config},
                body=client.body.pieces(limit=calls.max_body_bytes(mirrors), first=push.raw),
                descriptors=guard.descriptors,
                memory=PUSH_MEMORY_BYTES,
                before_answer=partial(mirrors.publish, repository, push.commits),
            ) as answer,
        ):
            if guard.refusals:
                moved = await refs.at_commits(git_dir, push.commits)
                await client.respond(_push_refusal(push, guard.refusals[0], moved=moved))
            else:
                await client.pass_back(answer)

    async def _judge(self, push: Push, caller: Caller, git_dir: Path) -> tuple[int, str | None]:
        """Return how many bytes the push may contain, and the reason if it is refused."""
        reason = push_rules.why_not(push, default_branch=caller.project.default_branch)
        if reason is None:
            reason = await push_rules.why_closed(self._sessions, caller, [command.ref for command in push.commands])
        room, full = await quota.left_bytes(git_dir, limit_gb=self._settings.project_repository_gb)
        return room, reason or full

    @staticmethod
    async def _may_rewrite(push: Push, caller: Caller, git_dir: Path) -> bool:
        """Return whether the push may replace history: on every branch except the default branch.

        The first push of an existing repository to a new project replaces the commit that the platform created.
        """
        default = caller.project.default_branch
        if not any(push_rules.is_default(command.ref, default) for command in push.commands):
            return True
        return await refs.has_only_first_commit(git_dir)


def _refusal(error: Exception) -> Response:
    if isinstance(error, BadToken):
        return _text(error.status, str(error), headers=_SIGN_IN)
    if isinstance(error, OmoiError):
        return _text(error.status, str(error))
    if disk.is_disk_full(error):
        return _text(507, "the disk is full; free some space and retry")
    if isinstance(error, OSError):
        raise error
    return _text(503, "the database does not answer; retry in a moment")


def _push_refusal(push: Push, reason: str, *, moved: Collection[str] = ()) -> Response:
    report = push_commands.report(push, reason, moved=moved)
    return Response(report, media_type=calls.RESULT) if report else _text(403, reason)


def _text(status: int, sentence: str, *, headers: dict[str, str] | None = None) -> Response:
    """Return a response that git shows to its user."""
    return PlainTextResponse(f"{sentence}\n", status_code=status, headers=headers)
