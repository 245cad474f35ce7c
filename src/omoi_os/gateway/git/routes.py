"""Git over smart HTTP: a sandbox reads its own project's repository and pushes to its own branches."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path

from aiohttp import StreamReader, web

from omoi_os.audit.trail import refused
from omoi_os.errors import NotFound, RequestError
from omoi_os.forges.bare.git import PUSH_MEMORY_BYTES
from omoi_os.forges.smart_http import calls, http_backend, push_commands
from omoi_os.forges.smart_http.backend import GitBackend
from omoi_os.forges.smart_http.calls import Call
from omoi_os.forges.smart_http.push_commands import Push
from omoi_os.forges.smart_http.ref_guard import Guard, guarding
from omoi_os.gateway.callers import Caller
from omoi_os.gateway.context import PARTS, Parts
from omoi_os.gateway.full_disk import wait_for_space
from omoi_os.gateway.git import branch_guard, push_quota, pushes

_CLIENT = "sandbox"


def add_routes(app: web.Application) -> None:
    """Add everything under `/git`."""
    app.router.add_route("*", "/git/{owner}/{name}.git/{call:.+}", serve)


async def serve(request: web.Request) -> web.StreamResponse:
    """Answer one request of the git client."""
    parts = request.app[PARTS]
    caller = await parts.callers.identify(request, saving=True)
    path = request.match_info["call"]
    if request.rel_url.raw_path != f"{caller.git_path}/{path}":
        raise NotFound("this repository does not exist or does not belong to this sandbox")
    call = calls.read_call(request.method, path, service=request.query.get("service", ""))
    backend = parts.git_backend(caller.forge)
    git_dir = await backend.open(caller.repository)
    if call.service == calls.PUSH:
        if not pushes.may_push(caller):
            return _refuse("a sandbox that verifies a result may not push")
        await wait_for_space(parts)
    async with parts.git_slots.one(caller.sandbox_id):
        if call.is_push:
            # One at a time: each push may use as much memory as a push is allowed.
            async with parts.push_slots.one(caller.sandbox_id):
                return await _receive(request, call, caller, git_dir, parts)
        async with http_backend.answering(
            calls.variables(call, git_dir, request.headers, client=_CLIENT),
            config=calls.read_config(backend),
            body=_bounded(request.content, backend),
        ) as answer:
            return await _pass_back(request, answer)


async def _receive(request: web.Request, call: Call, caller: Caller, git_dir: Path, parts: Parts) -> web.StreamResponse:
    """Check a push, then let git receive it. It is durable before the client gets its answer."""
    if "Content-Encoding" in request.headers:
        raise RequestError("send the push without Content-Encoding")
    backend = parts.git_backend(caller.forge)
    push = await push_commands.read_push(request.content)
    body = _bounded(request.content, backend, push.raw)
    commit = pushes.new_head(push, caller)
    allowed_bytes, reason = await _judge(push, caller, git_dir, parts)
    if reason is not None:
        await parts.trail.record(refused(caller.sandbox_id, f"push {push.refs()}", reason))
        # The client reads the answer only after it has sent everything.
        async for _ in body:
            pass
        report = push_commands.report(push, reason)
        return web.Response(body=report, content_type=calls.RESULT) if report else _refuse(reason)
    await backend.prepare_push(caller.repository, push.commits)
    config = calls.push_config(backend, max_bytes=allowed_bytes, rewrites=pushes.may_rewrite(push, caller))
    async with (
        _guarding(parts, caller, commit) as guard,
        http_backend.answering(
            {**calls.variables(call, git_dir, request.headers, client=_CLIENT), **guard.variables},
            config={**config, **guard.config},
            body=push_quota.counted(parts, caller, body),
            descriptors=guard.descriptors,
            memory=PUSH_MEMORY_BYTES,
            before_answer=partial(backend.publish, caller.repository, push.commits),
        ) as answer,
    ):
        return await _pass_back(request, answer)


async def _judge(push: Push, caller: Caller, git_dir: Path, parts: Parts) -> tuple[int, str | None]:
    """Return how many bytes the push may contain, and the reason if it is refused."""
    reason = pushes.why_not(push, caller)
    if reason is None and pushes.new_head(push, caller) is not None:
        reason = await branch_guard.why_closed(parts.sessions, caller)
    allowed_bytes, over_quota = await push_quota.allowed_bytes(parts, caller, git_dir)
    return allowed_bytes, reason or over_quota


def _guarding(parts: Parts, caller: Caller, commit: str | None) -> AbstractAsyncContextManager[Guard]:
    """Make git ask before it moves the task's branch; the branch for unfinished work may always move."""
    if commit is None:
        return nullcontext(Guard())
    decide = branch_guard.branch_stays_open(parts.sessions, caller, commit=commit)
    return guarding(decide, folder=parts.settings.git_hooks_dir)


async def _bounded(content: StreamReader, backend: GitBackend, first: bytes = b"") -> AsyncIterator[bytes]:
    """Yield the body in pieces. A body that is too long is cut off, and git rejects it as incomplete."""
    left = calls.max_body_bytes(backend)
    if first:
        yield first
    async for chunk in content.iter_any():
        left -= len(chunk)
        if left < 0:
            return
        yield chunk


async def _pass_back(request: web.Request, answer: http_backend.Answer) -> web.StreamResponse:
    """Pass git's answer on to the client."""
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    await response.prepare(request)
    async for piece in answer.pieces:
        await response.write(piece)
    await response.write_eof()
    return response


def _refuse(sentence: str) -> web.Response:
    """Return a refusal that git shows to its user."""
    return web.Response(status=403, text=f"{sentence}\n")
