"""Identifies the calling sandbox by its gateway socket and token."""

import time
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from aiohttp import web
from sqlalchemy import func, select

from omoi_os.audit.trail import Trail, foreign
from omoi_os.db.base import Sessions
from omoi_os.errors import BadToken, NotFound, StaleFence, UnknownSandboxToken
from omoi_os.forges.base import Repository
from omoi_os.forges.branches import wip_branch
from omoi_os.ids import token_hash
from omoi_os.projects.addresses import git_path, repository_of
from omoi_os.projects.models import Project
from omoi_os.sandboxes.lifecycle import ENDED, Purpose
from omoi_os.sandboxes.models import Sandbox
from omoi_os.sandboxes.repository import may_save
from omoi_os.tasks.models import Task
from omoi_os.tickets.models import Ticket

#: How long a caller is cached.
MAX_AGE_SECONDS = 1.0
_MAX_KNOWN = 4096

#: Key of a request under which the id of the calling sandbox is stored.
CALLING_SANDBOX = web.RequestKey("calling_sandbox", str)


@dataclass(frozen=True, slots=True)
class Caller:
    """Data of a sandbox that the gateway needs to serve it."""

    sandbox_id: str
    #: The gateway socket that it must use.
    gateway_socket: str
    purpose: Purpose
    #: Its `USER_ID`: the ticket's author, else the project's owner. Their credentials apply.
    user_id: UUID
    #: What it serves: either a task or a spec.
    task_id: UUID | None
    spec_id: UUID | None
    #: The text of its task; empty if it serves a spec.
    title: str
    description: str
    #: The branch of its task, once that is created.
    branch: str | None
    model: str | None
    #: Features of the model's host that its project allows beyond the allow-list.
    model_features: frozenset[str]
    forge: str
    repository: Repository
    git_path: str
    #: The branch for its unfinished work.
    wip: str
    #: It has ended or was superseded by a later attempt.
    stale: bool
    #: Its work is being salvaged: it may read its repository, push to `wip` and save its transcript, stale or not.
    saving: bool


class Callers:
    """Finds callers by their token, and caches each for a second because agents call in bursts."""

    def __init__(self, sessions: Sessions, trail: Trail) -> None:
        self._sessions, self._trail = sessions, trail
        self._known: dict[str, tuple[float, Caller]] = {}

    async def identify(self, request: web.Request, *, saving: bool = False) -> Caller:
        """Return the calling sandbox. Raises `BadToken`, `NotFound` for another sandbox's token, or `StaleFence`.

        With `saving`, a stale sandbox whose work is being salvaged is accepted too.
        """
        token = _token(request)
        if token is None:
            raise BadToken("send the sandbox's own token in the header: Authorization: Bearer …")
        caller = await self._find(token_hash(token))
        if caller is None:
            raise UnknownSandboxToken()
        request[CALLING_SANDBOX] = caller.sandbox_id
        socket = socket_of(request)
        if socket is not None and socket != caller.gateway_socket:
            await self._trail.record(
                foreign(socket, caller.sandbox_id, f"its token was used at the gateway socket of {socket}")
            )
            raise NotFound("this token does not belong to the sandbox that is calling")
        if caller.stale and not (saving and caller.saving):
            raise StaleFence(f"sandbox {caller.sandbox_id} has ended or was superseded")
        return caller

    def forget(self, sandbox_id: str | None = None) -> None:
        """Drop one sandbox, or all, from the cache after a change."""
        if sandbox_id is None:
            self._known.clear()
        for key in [key for key, (_, caller) in self._known.items() if caller.sandbox_id == sandbox_id]:
            del self._known[key]

    async def _find(self, hashed: str) -> Caller | None:
        looked_up, caller = self._known.get(hashed, (0.0, None))
        now = time.monotonic()
        if caller is not None and now - looked_up < MAX_AGE_SECONDS:
            return caller
        caller = await _look_up(self._sessions, hashed)
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        if caller is not None:
            self._known[hashed] = (now, caller)
        return caller


def socket_of(request: web.Request) -> str | None:
    """Return the gateway socket of a request; None over TCP, where only the token identifies the caller."""
    name = request.transport.get_extra_info("sockname") if request.transport else None
    return Path(name).parent.name if isinstance(name, str) else None


def _token(request: web.Request) -> str | None:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return request.headers.get("x-api-key") if request.path.startswith("/v1/") else None


async def _look_up(sessions: Sessions, hashed: str) -> Caller | None:
    query = (
        select(Sandbox, Task, Project, func.coalesce(Ticket.created_by, Project.created_by))
        .outerjoin(Task, Task.id == Sandbox.task_id)
        .outerjoin(Ticket, Ticket.id == Task.ticket_id)
        .join(Project, Project.id == Sandbox.project_id)
        .where(Sandbox.token_hash == hashed)
    )
    async with sessions() as session:
        row = (await session.execute(query)).one_or_none()
        if row is None:
            return None
        sandbox, task, project, user_id = row
        superseded = task is not None and sandbox.fence < task.fence
        stale = sandbox.status in ENDED or superseded
        saving = stale and await may_save(session, sandbox.id)
    return Caller(
        sandbox_id=sandbox.id,
        gateway_socket=sandbox.gateway_socket,
        purpose=Purpose(sandbox.purpose),
        user_id=user_id,
        task_id=sandbox.task_id,
        spec_id=sandbox.spec_id,
        title=task.title if task else "",
        description=task.description if task else "",
        branch=task.branch_name if task and task.branch_created and not stale else None,
        model=sandbox.model,
        model_features=frozenset(project.settings.get("model_features", ())),
        forge=project.forge,
        repository=repository_of(project),
        git_path=git_path(project),
        wip=wip_branch(sandbox.task_id or sandbox.spec_id, attempt=sandbox.attempt if superseded else None),
        stale=stale,
        saving=saving,
    )
