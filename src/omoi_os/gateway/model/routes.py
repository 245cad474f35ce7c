"""Routes for the model calls of sandboxes."""

import asyncio
import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from aiohttp import ClientError, ClientResponse, web

from omoi_os.errors import CredentialError, Forbidden, RequestError
from omoi_os.gateway.callers import Caller
from omoi_os.gateway.context import PARTS, Parts
from omoi_os.gateway.full_disk import wait_for_space
from omoi_os.gateway.model.metered.calls import MAX_BODY_BYTES, MeteredCall
from omoi_os.gateway.model.metered.credentials import CallPurpose
from omoi_os.gateway.model.metered.estimates import cap_output
from omoi_os.gateway.model.metered.payers import SandboxPayer
from omoi_os.gateway.model.requests import Reducer, filter_betas, read_request, write_request
from omoi_os.gateway.problems import FINAL, model_error
from omoi_os.masking import MASK, Masker
from omoi_os.protocol.messages import ids_in
from omoi_os.sandboxes import metering
from omoi_os.sandboxes.lifecycle import Purpose
from omoi_os.sandboxes.reservations import Estimate, Refused
from omoi_os.scripted_model.headers import REFUSAL
from omoi_os.system.off_loop import off_loop

#: Larger bodies are parsed in a thread, so that they do not block other sandboxes.
_LARGE_BODY_BYTES = 256 * 1024

#: A body that arrives slowly occupies memory that other calls wait for.
_BODY_SECONDS = 120.0

_MESSAGES = "/v1/messages"

_REQUEST_HEADERS = {"accept", "user-agent", "x-app", "anthropic-version"}
_REQUEST_PREFIXES = ("x-claude-code-", "x-stainless-")
_RESPONSE_HEADERS = {"content-type", "request-id", "retry-after", "x-should-retry", "cache-control"}
_RESPONSE_PREFIXES = ("anthropic-ratelimit-",)

#: Answers of the upstream after which every further call would fail too: bad key, no credit, not allowed.
_FINAL_STATUSES = {HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.FORBIDDEN}

_MAX_REFUSAL_CHARACTERS = 2000


def add_routes(app: web.Application) -> None:
    """Add the part of the Messages API that agents use."""
    app.router.add_post(_MESSAGES, post_message)
    app.router.add_post("/v1/messages/count_tokens", post_message)
    app.router.add_route("*", "/v1/{path:.*}", refuse_path)
    app.router.add_get("/api/hello", hello)


async def hello(_request: web.Request) -> web.Response:
    """Answer the connectivity check of the agent's CLI."""
    return web.json_response({"message": "hello"})


async def refuse_path(request: web.Request) -> web.StreamResponse:
    """Refuse files, batches and administration."""
    await request.app[PARTS].callers.identify(request)
    raise Forbidden(f"a sandbox may only call /v1/messages and /v1/messages/count_tokens, not {request.path}")


async def post_message(request: web.Request) -> web.StreamResponse:
    """Forward one call if the budget allows it, and stream the answer back."""
    parts = request.app[PARTS]
    caller = await parts.callers.identify(request)
    if caller.purpose is not Purpose.WORK:
        raise Forbidden("only a sandbox in which an agent works may call the model")
    if "Content-Encoding" in request.headers:
        raise RequestError("send the body without Content-Encoding")
    await wait_for_space(parts)
    await parts.model_slots.take(caller.sandbox_id)
    call: MeteredCall | None = None
    try:
        payer = SandboxPayer(caller.sandbox_id, caller.title, caller.description, caller.user_id, caller.model)
        try:
            call = await parts.models.call(payer, CallPurpose.AGENT)
        except CredentialError as error:
            return await _refuse(parts, caller, str(error))
        allowance = await _read_allowance(parts, caller)
        if sentence := allowance.why_not():
            return await _refuse(parts, caller, sentence)
        # The body is read only now: it may be large, and memory for bodies is limited.
        async with parts.bodies.held(caller.sandbox_id, request.content_length or MAX_BODY_BYTES):
            answer = await _send(request, caller, call, budgeted=allowance.budget_usd is not None)
        if isinstance(answer, web.Response):
            return answer
        if answer.content_type == "text/event-stream" and answer.status == HTTPStatus.OK:
            return await _pass_stream(request, answer, call)
        return await _pass_whole(answer, caller, call, parts)
    finally:
        parts.background.start(_end(parts, caller, call))


async def _end(parts: Parts, caller: Caller, call: MeteredCall | None) -> None:
    """Record the usage of a call, then release its slot. The usage may arrive after the agent has disconnected."""
    try:
        if call is not None:
            await call.end()
    finally:
        parts.model_slots.release(caller.sandbox_id)


async def _send(
    request: web.Request, caller: Caller, call: MeteredCall, *, budgeted: bool
) -> ClientResponse | web.Response:
    """Send a call and return its answer as it starts, or an error for the sandbox.

    The request body is released when this returns.
    """
    parts = request.app[PARTS]
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            raw = await request.read()
    except TimeoutError:
        raise RequestError(f"the body did not arrive within {_BODY_SECONDS:g} s") from None
    prepared = await _prepare(raw, caller, call, parts)
    del raw
    call.model = prepared.model
    if request.path == _MESSAGES:
        if budgeted and (sentence := await _reserve(call, prepared)):
            return await _refuse(parts, caller, sentence)
        _note_messages(parts, caller, prepared.message_ids)
    try:
        return await call.open(_path_and_query(request), prepared.body, headers=_request_headers(request, caller))
    except (ClientError, TimeoutError) as error:
        return model_error(502, f"The model does not answer ({type(error).__name__}). Retry in a moment.")


def _note_messages(parts: Parts, caller: Caller, message_ids: set[str]) -> None:
    """Record the messages in a request as seen. The call does not wait for that."""
    if fresh := parts.sightings.fresh_of(caller.sandbox_id, message_ids):
        parts.background.start(parts.sightings.record(caller.sandbox_id, fresh))


@dataclass
class _Prepared:
    """A request reduced to the allow-list, ready to be sent."""

    content: dict[str, Any]
    body: bytes
    model: str
    estimate: Estimate
    message_ids: set[str]


async def _prepare(raw: bytes, caller: Caller, call: MeteredCall, parts: Parts) -> _Prepared:
    """Reduce a request to the allow-list and estimate its cost."""
    if len(raw) < _LARGE_BODY_BYTES:
        return _reduce(raw, caller, call, parts)
    # One per sandbox at a time, so that no sandbox waits behind many of another.
    async with parts.parse_slots.one(caller.sandbox_id):
        return await off_loop(_reduce, raw, caller, call, parts)


def _reduce(raw: bytes, caller: Caller, call: MeteredCall, parts: Parts) -> _Prepared:
    content = Reducer(caller.model_features).reduce(read_request(raw))
    if call.upstream.model is not None:
        content["model"] = call.upstream.model
    elif not call.upstream.scripted and parts.settings.model is not None:
        content["model"] = caller.model or parts.settings.model
    model = content.get("model")
    if not isinstance(model, str):
        raise RequestError("model must be the name of a model")
    body = write_request(content)
    return _Prepared(content, body, model, call.estimate(content, body, model=model), ids_in(body))


async def _reserve(call: MeteredCall, prepared: _Prepared) -> str | None:
    """Reserve the cost of a call and cap its output to the remaining budget. Return why it is refused, or None."""
    outcome = await call.reserve(prepared.estimate)
    if isinstance(outcome, Refused):
        return outcome.sentence
    if outcome.max_tokens != prepared.content.get("max_tokens"):
        cap_output(prepared.content, outcome.max_tokens)
        prepared.body = await off_loop(write_request, prepared.content)
    return None


async def _read_allowance(parts: Parts, caller: Caller) -> metering.Allowance:
    async with parts.sessions() as session:
        return await metering.read_allowance(session, caller.sandbox_id)


async def _refuse(parts: Parts, caller: Caller, sentence: str) -> web.Response:
    await _store_refusal(parts, caller, sentence)
    # The agent's CLI retries other kinds of 400 with fewer features, but not a billing error.
    return model_error(400, sentence, error_type="billing_error")


def _path_and_query(request: web.Request) -> str:
    """Return the path with the one query parameter that the agent's CLI sends."""
    return request.path + ("?beta=true" if request.query.get("beta") == "true" else "")


def _request_headers(request: web.Request, caller: Caller) -> dict[str, str]:
    headers = {
        name: value
        for name, value in request.headers.items()
        if name.lower() in _REQUEST_HEADERS or name.lower().startswith(_REQUEST_PREFIXES)
    }
    if betas := filter_betas(request.headers.getall("anthropic-beta", []), caller.model_features):
        headers["anthropic-beta"] = betas
    return headers | {"Content-Type": "application/json"}


def _response_headers(answer: ClientResponse) -> dict[str, str]:
    return {
        name: value
        for name, value in answer.headers.items()
        if name.lower() in _RESPONSE_HEADERS or name.lower().startswith(_RESPONSE_PREFIXES)
    }


async def _pass_stream(request: web.Request, answer: ClientResponse, call: MeteredCall) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, headers=_response_headers(answer))
    await response.prepare(request)
    try:
        async for chunk in answer.content.iter_any():
            await call.feed(chunk)
            await response.write(chunk)
    except (ClientError, TimeoutError):
        # Close the connection: a stream that merely ends would look complete.
        if request.transport is not None:
            request.transport.close()
        return response
    await response.write_eof()
    return response


async def _pass_whole(answer: ClientResponse, caller: Caller, call: MeteredCall, parts: Parts) -> web.Response:
    try:
        body = await call.read(answer)
    except (ClientError, TimeoutError) as error:
        return model_error(502, f"The model's answer was cut off ({type(error).__name__}). Retry in a moment.")
    if HTTPStatus.MULTIPLE_CHOICES <= answer.status < HTTPStatus.BAD_REQUEST:
        return model_error(502, "The model's host sent a redirect, which is not followed. Check the base URL.")
    headers = _response_headers(answer)
    if answer.status != HTTPStatus.OK:
        # The host may repeat the key in an error.
        body = (await off_loop(_masked, body, call.upstream.key, parts.masker)).encode()
    final = call.upstream.scripted and answer.headers.get(REFUSAL) is not None
    if answer.status in _FINAL_STATUSES or final:
        await _store_refusal(parts, caller, _message_of(body, answer.status, check=call.upstream.source))
        headers |= FINAL
    return web.Response(status=answer.status, body=body, headers=headers)


async def _store_refusal(parts: Parts, caller: Caller, sentence: str) -> None:
    async with parts.sessions.begin() as session:
        await metering.store_refusal(session, caller.sandbox_id, sentence)


def _masked(body: bytes, key: str | None, masker: Masker) -> str:
    """Return an error without the call's own key, which the process may no longer know, and without other secrets."""
    text = body.decode(errors="replace")
    return masker.mask_text(text.replace(key, MASK) if key else text)


def _message_of(body: bytes, status: int, *, check: str) -> str:
    try:
        message = json.loads(body)["error"]["message"]
    except (ValueError, RecursionError, LookupError, TypeError):
        message = None
    if not isinstance(message, str) or not message:
        message = f"The model's host refused with status {status}. Check {check}."
    return message[:_MAX_REFUSAL_CHARACTERS].replace("\x00", "")
