"""Git over smart HTTP: a sandbox reads its own project's repository and pushes to its own branches."""

import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path

from aiohttp import StreamReader, web

from omoi_os.audit.trail import refused
from omoi_os.errors import Forbidden, NotFound, RequestError
from omoi_os.forges.bare.gc import KEEP_REPLACED
from omoi_os.forges.bare.git import PUSH_CONFIG, PUSH_MEMORY_BYTES, SAFE_CONFIG
from omoi_os.gateway.callers import Caller
from omoi_os.gateway.context import PARTS, Parts
from omoi_os.gateway.full_disk import wait_for_space
from omoi_os.gateway.git import branch_guard, http_backend, push_quota, pushes
from omoi_os.gateway.git.backend import GitBackend
from omoi_os.gateway.git.branch_guard import Guard, guarding

_READ = "git-upload-pack"
_PUSH = "git-receive-pack"
_CALLS = {("GET", "info/refs"), ("POST", _READ), ("POST", _PUSH)}
_PROTOCOL = re.compile(r"version=[0-9]")

#: Space for the commands of a push, in addition to its pack.
_MAX_COMMAND_BYTES = 1 << 20


def add_routes(app: web.Application) -> None:
    """Add everything under `/git`."""
    app.router.add_route("*", "/git/{owner}/{name}.git/{call:.+}", serve)


async def serve(request: web.Request) -> web.StreamResponse:
    """Answer one request of the git client."""
    parts = request.app[PARTS]
    caller = await parts.callers.identify(request, saving=True)
    call = request.match_info["call"]
    if request.rel_url.raw_path != f"{caller.git_path}/{call}" or (request.method, call) not in _CALLS:
        raise NotFound("this repository does not exist or does not belong to this sandbox")
    service = request.query.get("service", "") if call == "info/refs" else call
    if service not in (_READ, _PUSH):
        raise Forbidden("only git's smart HTTP protocol is served: use a newer git client")
    backend = parts.git_backend(caller.forge)
    git_dir = await backend.open(caller.repository)
    if service == _PUSH:
        if not pushes.may_push(caller):
            return _refuse("A sandbox that verifies a result may not push.")
        await wait_for_space(parts)
    async with parts.git_slots.one(caller.sandbox_id):
        if call == _PUSH:
            # One at a time: each push may use as much memory as a push is allowed.
            async with parts.push_slots.one(caller.sandbox_id):
                return await _receive(request, caller, git_dir, backend, parts)
        return await http_backend.serve(
            request,
            _variables(request, git_dir, service=service, call=call),
            config=_config(backend),
            body=_bounded(request.content, backend),
        )


async def _receive(
    request: web.Request, caller: Caller, git_dir: Path, backend: GitBackend, parts: Parts
) -> web.StreamResponse:
    """Check a push, then let git receive it. It is durable before the client gets its answer."""
    if "Content-Encoding" in request.headers:
        raise RequestError("send the push without Content-Encoding")
    push = await pushes.read_push(request.content)
    body = _bounded(request.content, backend, push.raw)
    commit = pushes.new_head(push, caller)
    allowed_bytes, reason = await _judge(push, caller, git_dir, parts)
    if reason is not None:
        await parts.trail.record(refused(caller.sandbox_id, f"push {_refs(push)}", reason))
        # The client reads the answer only after it has sent everything.
        async for _ in body:
            pass
        answer = pushes.report(push, reason)
        return web.Response(body=answer, content_type=f"application/x-{_PUSH}-result") if answer else _refuse(reason)
    commits = {command.ref: command.new for command in push.commands}
    await backend.prepare_push(caller.repository, commits)
    async with _guarding(parts, caller, commit) as guard:
        return await http_backend.serve(
            request,
            {**_variables(request, git_dir, service=_PUSH, call=_PUSH), **guard.variables},
            config={
                **_config(backend),
                **PUSH_CONFIG,
                "receive.denyNonFastForwards": "false" if pushes.may_rewrite(push, caller) else "true",
                "receive.denyDeletes": "true",
                "receive.maxInputSize": str(min(backend.max_push_bytes, allowed_bytes)),
                **guard.config,
            },
            body=push_quota.counted(parts, caller, body),
            descriptors=guard.descriptors,
            memory=PUSH_MEMORY_BYTES,
            before_answer=partial(backend.publish, caller.repository, commits),
        )


async def _judge(push: pushes.Push, caller: Caller, git_dir: Path, parts: Parts) -> tuple[int, str | None]:
    """Return how many bytes the push may contain, and the reason if it is refused."""
    reason = pushes.why_not(push, caller)
    if reason is None and pushes.new_head(push, caller) is not None:
        reason = await branch_guard.why_closed(parts.sessions, caller)
    allowed_bytes, over_quota = await push_quota.allowed_bytes(parts, caller, git_dir)
    return allowed_bytes, reason or over_quota


def _config(backend: GitBackend) -> dict[str, str]:
    """Return git's configuration: hide the platform's refs, and keep replaced history for sandboxes that use it."""
    return {**SAFE_CONFIG, **KEEP_REPLACED, "transfer.hideRefs": backend.hidden_refs}


def _refs(push: pushes.Push) -> str:
    return ", ".join(command.ref for command in push.commands[:5])


def _guarding(parts: Parts, caller: Caller, commit: str | None) -> AbstractAsyncContextManager[Guard]:
    """Make git ask before it moves the task's branch; the branch for unfinished work may always move."""
    if commit is None:
        return nullcontext(Guard())
    return guarding(parts.sessions, caller, folder=parts.settings.data_dir / "git-hooks", commit=commit)


def _variables(request: web.Request, git_dir: Path, *, service: str, call: str) -> dict[str, str]:
    """Return the CGI variables for `git http-backend`. Without a length it reads to the end of its input."""
    variables = {
        "GIT_PROJECT_ROOT": str(git_dir.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{git_dir.name}/{call}",
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


async def _bounded(content: StreamReader, backend: GitBackend, first: bytes = b"") -> AsyncIterator[bytes]:
    """Yield the body in pieces. A body that is too long is cut off, and git rejects it as incomplete."""
    left = backend.max_push_bytes + _MAX_COMMAND_BYTES
    if first:
        yield first
    async for chunk in content.iter_any():
        left -= len(chunk)
        if left < 0:
            return
        yield chunk


def _refuse(sentence: str) -> web.Response:
    """Return a refusal that git shows to its user."""
    return web.Response(status=403, text=f"{sentence}\n")
