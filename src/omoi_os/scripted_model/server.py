"""The server: the part of the Messages API that an agent uses, answered from scripts."""

import asyncio
import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler

from omoi_os.errors import ConfigError
from omoi_os.scripted_model import headers
from omoi_os.scripted_model.conversation import Conversation, read_conversation
from omoi_os.scripted_model.failures import Failures, error_body
from omoi_os.scripted_model.judgements import choose_judgement, schema_name, wanted_schema
from omoi_os.scripted_model.player import Reply, choose_reply
from omoi_os.scripted_model.scripts import Library
from omoi_os.scripted_model.stream import Event, cut, encode, to_events, to_message
from omoi_os.strict_json import has_too_many_parts
from omoi_os.system.off_loop import LARGE, off_loop

MAX_BODY_BYTES = 32 * 1024 * 1024

NO_SCRIPT = (
    "No script covers this task and no model key is set: add a key under My credentials or set ANTHROPIC_API_KEY "
    "to use a real model, or add a script to OMOI_SCRIPTS_DIR."
)

_SESSION = "X-Claude-Code-Session-Id"
_AGENT = "X-Claude-Code-Agent-Id"

_LIBRARY = web.AppKey("library", Library)
_FAILURES = web.AppKey("failures", Failures)
_CLOSING = web.AppKey("closing", asyncio.Event)


def make_app(scripts_dir: Path | None) -> web.Application:
    """Return the server's application. Raise `ConfigError` naming a script that cannot be played."""
    app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[_answer_errors_in_json])
    app[_LIBRARY] = Library(scripts_dir)
    app[_FAILURES] = Failures()
    app[_CLOSING] = asyncio.Event()
    app.on_shutdown.append(_end_delays)
    app.router.add_post("/v1/messages", post_message)
    app.router.add_post("/v1/messages/count_tokens", count_tokens)
    app.router.add_get("/api/hello", hello)
    return app


async def post_message(request: web.Request) -> web.StreamResponse:
    """Answer with the next reply in this conversation."""
    body = await _read_body(request)
    large = (request.content_length or 0) > LARGE
    is_subagent = _AGENT in request.headers
    if large:
        conversation = await off_loop(read_conversation, body, is_subagent=is_subagent)
    else:
        conversation = read_conversation(body, is_subagent=is_subagent)
    task = _task(request, conversation)
    wanted = wanted_schema(body)
    try:
        if wanted is not None:
            reply = choose_judgement(request.app[_LIBRARY], wanted, task=task)
        else:
            script = request.app[_LIBRARY].find(task)
            reply = choose_reply(script, conversation) if script else None
    except ConfigError as error:
        return _refusal(str(error))
    if reply is None:
        return _refusal(NO_SCRIPT if wanted is None else _no_judgement(schema_name(wanted)))
    streams = body.get("stream") is True
    if reply.fail and request.app[_FAILURES].fail_again(_step(request, conversation, reply), times=reply.fail.times):
        return await _fail(request, reply, reply.fail.status, streams=streams)
    await _wait(request.app, reply.delay_s)
    message = to_message(reply)
    return await _stream(request, to_events(message)) if streams else web.json_response(message)


async def count_tokens(request: web.Request) -> web.Response:
    """Answer with a rough token count: four characters per token."""
    body = await off_loop(json.dumps, await _read_body(request))
    return web.json_response({"input_tokens": len(body) // 4})


async def hello(_request: web.Request) -> web.Response:
    """Answer that the server is running."""
    return web.json_response({"message": "hello"})


async def _read_body(request: web.Request) -> dict[str, Any]:
    raw = await request.read()
    body = await off_loop(_parse, raw) if len(raw) > LARGE else _parse(raw)
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        raise web.HTTPBadRequest(reason="The body must be a JSON object with a list of messages")
    return body


def _parse(raw: bytes) -> Any:
    """Return the body; None if it is not JSON or has more values than any conversation."""
    if has_too_many_parts(raw):
        return None
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _task(request: web.Request, conversation: Conversation) -> str:
    """Return the texts that scripts are matched against: the task that the gateway names, else the prompt."""
    title = headers.read_text(request.headers.get(headers.TASK_TITLE))
    description = headers.read_text(request.headers.get(headers.TASK_DESCRIPTION))
    if title is None and description is None:
        return conversation.prompt
    return f"{title or ''}\n{description or ''}"


def _step(request: web.Request, conversation: Conversation, reply: Reply) -> tuple[str, ...]:
    """Return the key of a step in a conversation."""
    prompt = hashlib.sha256(conversation.prompt.encode(errors="replace")).hexdigest()
    return (request.headers.get(_SESSION, prompt), request.headers.get(_AGENT, ""), reply.step)


async def _fail(request: web.Request, reply: Reply, status: str | int, *, streams: bool) -> web.StreamResponse:
    if isinstance(status, int):
        return web.json_response(
            error_body(status, f"The script asks for a failure with status {status}."), status=status
        )
    response = await _stream(request, cut(to_message(reply))) if streams else web.Response()
    if request.transport is not None:
        request.transport.close()
    return response


async def _stream(request: web.Request, events: Iterable[Event]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    # An interrupted or killed agent does not wait for the end of its reply.
    with suppress(ConnectionResetError):
        await response.prepare(request)
        for event in events:
            await response.write(encode(event))
    return response


async def _wait(app: web.Application, seconds: float) -> None:
    if seconds:
        with suppress(TimeoutError):
            await asyncio.wait_for(app[_CLOSING].wait(), seconds)


async def _end_delays(app: web.Application) -> None:
    app[_CLOSING].set()


def _refusal(sentence: str) -> web.Response:
    """Answer with a final error: the agent's CLI retries most kinds of 400, but not billing errors."""
    body = error_body(400, sentence, error_type="billing_error")
    return web.json_response(body, status=400, headers={headers.REFUSAL: "1"})


def _no_judgement(name: str) -> str:
    return f"No script has a judgement named {name!r}: add it under 'judgements' of a script in OMOI_SCRIPTS_DIR."


@web.middleware
async def _answer_errors_in_json(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPException as error:
        return web.json_response(error_body(error.status, f"{error.reason}."), status=error.status)
