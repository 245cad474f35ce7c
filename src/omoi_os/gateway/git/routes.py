"""Git over smart HTTP: a sandbox reads its own project's repository and pushes to its own branches."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path

from aiohttp import StreamReader, web

from omoi_os.audit.trail import refused
from omoi_os.errors import Forbidden, ForgeError, NotFound, RequestError
from omoi_os.forges.bare import stale_locks as locks
from omoi_os.forges.bare.durability import sync_refs
from omoi_os.forges.bare.gc import KEEP_REPLACED
from omoi_os.forges.bare.git import PUSH_CONFIG, PUSH_MEMORY_BYTES, SAFE_CONFIG
from omoi_os.forges.local.claims import PLATFORM_REFS
from omoi_os.forges.local.forge import MAX_PUSH_BYTES, LocalForge
from omoi_os.forges.registry import make_forge
from omoi_os.gateway.callers import Caller
from omoi_os.gateway.context import PARTS, Parts
from omoi_os.gateway.full_disk import wait_for_space
from omoi_os.gateway.git import backend, branch_guard, push_quota, pushes
from omoi_os.gateway.git.branch_guard import Guard, guarding

_READ = "git-upload-pack"
_PUSH = "git-receive-pack"
_CALLS = {("GET", "info/refs"), ("POST", _READ), ("POST", _PUSH)}
_PROTOCOL = re.compile(r"version=[0-9]")

#: The platform's own refs are not for sandboxes. Replaced history stays for those who still use it.
_CONFIG = {**SAFE_CONFIG, **KEEP_REPLACED, "transfer.hideRefs": PLATFORM_REFS}

#: The commands and their flush on top of the pack.
_MAX_BODY_BYTES = MAX_PUSH_BYTES + (1 << 20)


def add_routes(app: web.Application) -> None:
    """Everything under `/git`."""
    app.router.add_route("*", "/git/{owner}/{name}.git/{call:.+}", serve)


async def serve(request: web.Request) -> web.StreamResponse:
    """One request of the git client."""
    parts = request.app[PARTS]
    caller = await parts.callers.identify(request, saving=True)
    call = request.match_info["call"]
    if request.rel_url.raw_path != f"{caller.git_path}/{call}" or (request.method, call) not in _CALLS:
        raise NotFound("there is no such repository, or it is not this sandbox's")
    service = request.query.get("service", "") if call == "info/refs" else call
    if service not in (_READ, _PUSH):
        raise Forbidden("only git's smart HTTP protocol is served: use a newer git client")
    repository = await asyncio.to_thread(_repository, caller, parts)
    if service == _PUSH:
        if not pushes.may_push(caller):
            return _say_no("A sandbox that verifies a result may not push.")
        await wait_for_space(parts)
    async with parts.git_slots.one(caller.sandbox_id):
        if call == _PUSH:
            # A push may take as much memory as it is allowed to.
            async with parts.push_slots.one(caller.sandbox_id):
                return await _receive(request, caller, repository, parts)
        return await backend.serve(
            request,
            _variables(request, repository, service=service, call=call),
            config=_CONFIG,
            body=_bounded(request.content),
        )


async def _receive(request: web.Request, caller: Caller, repository: Path, parts: Parts) -> web.StreamResponse:
    if "Content-Encoding" in request.headers:
        raise RequestError("send a push as it is, without Content-Encoding")
    push = await pushes.read_push(request.content)
    body = _bounded(request.content, push.raw)
    commit = pushes.new_head(push, caller)
    reason = pushes.why_not(push, caller)
    if reason is None and commit is not None:
        reason = await branch_guard.why_closed(parts.sessions, caller)
    room, full = await push_quota.room(parts, caller, repository)
    reason = reason or full
    if reason is not None:
        await parts.trail.record(refused(caller.sandbox_id, f"push {_refs(push)}", reason))
        # Git listens only once it has sent everything.
        async for _ in body:
            pass
        told = pushes.report(push, reason)
        return web.Response(body=told, content_type=f"application/x-{_PUSH}-result") if told else _say_no(reason)
    # A process that was killed during a push may have left its lock on the branch.
    await asyncio.to_thread(locks.clear, repository, [command.ref for command in push.commands])
    rewrite = "false" if pushes.may_rewrite(push, caller) else "true"
    async with _guarding(parts, caller, commit) as guard:
        return await backend.serve(
            request,
            {**_variables(request, repository, service=_PUSH, call=_PUSH), **guard.variables},
            config={
                **_CONFIG,
                **PUSH_CONFIG,
                "receive.denyNonFastForwards": rewrite,
                "receive.denyDeletes": "true",
                "receive.maxInputSize": str(min(MAX_PUSH_BYTES, room)),
                **guard.config,
            },
            body=push_quota.counted(parts, caller, body),
            descriptors=guard.descriptors,
            memory=PUSH_MEMORY_BYTES,
            # The client takes the answer for a promise.
            before_answer=partial(asyncio.to_thread, sync_refs, repository, [command.ref for command in push.commands]),
        )


def _refs(push: pushes.Push) -> str:
    return ", ".join(command.ref for command in push.commands[:5])


def _guarding(parts: Parts, caller: Caller, commit: str | None) -> AbstractAsyncContextManager[Guard]:
    """Have git ask before it moves the task's branch; what is kept aside may always move."""
    if commit is None:
        return nullcontext(Guard())
    return guarding(parts.sessions, caller, folder=parts.settings.data_dir / "git-hooks", commit=commit)


def _repository(caller: Caller, parts: Parts) -> Path:
    forge = make_forge(caller.forge, parts.settings)
    if not isinstance(forge, LocalForge):
        raise ForgeError(f"the gateway does not serve repositories of the forge {caller.forge!r}")
    path = forge.path(caller.repository)
    if not path.is_dir():
        raise NotFound("this project's repository has not been made yet")
    return path


def _variables(request: web.Request, repository: Path, *, service: str, call: str) -> dict[str, str]:
    """What the CGI gets to know of the request. The length is left out: it reads to the end of its input."""
    variables = {
        "GIT_PROJECT_ROOT": str(repository.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{repository.name}/{call}",
        "REQUEST_METHOD": request.method,
        "QUERY_STRING": f"service={service}" if call == "info/refs" else "",
        "CONTENT_TYPE": f"application/x-{service}-request",
        "REMOTE_USER": "sandbox",
        "REMOTE_ADDR": "sandbox",
    }
    if request.headers.get("Content-Encoding") in ("gzip", "x-gzip"):
        variables["HTTP_CONTENT_ENCODING"] = "gzip"
    protocol = request.headers.get("Git-Protocol", "")
    if _PROTOCOL.fullmatch(protocol):
        variables["GIT_PROTOCOL"] = protocol
    return variables


async def _bounded(content: StreamReader, first: bytes = b"") -> AsyncIterator[bytes]:
    """The body in pieces. One that is too long ends early, which git takes for a broken one."""
    left = _MAX_BODY_BYTES
    if first:
        yield first
    async for chunk in content.iter_any():
        left -= len(chunk)
        if left < 0:
            return
        yield chunk


def _say_no(sentence: str) -> web.Response:
    """A refusal that git shows to its user."""
    return web.Response(status=403, text=f"{sentence}\n")
