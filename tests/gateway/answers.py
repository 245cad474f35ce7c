"""Answers of models in these tests, and the charged and stored usage."""

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from omoi_os.db.base import Sessions
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.models import Task
from tests.gateway.places import GatewaySocket, sse

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

USAGE = {"input_tokens": 1000, "cache_creation_input_tokens": 2000, "cache_read_input_tokens": 10_000}
STREAM = sse(
    {"type": "message_start", "message": {"model": "claude-sonnet-4-5", "usage": USAGE | {"output_tokens": 1}}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x" * 400}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 500}},
    {"type": "message_stop"},
)
#: 3 x (1000 + 1.25 x 2000 + 0.1 x 10000) + 15 x 500 dollars per million.
COST = 0.021
TOKENS = 13_500
BODY = {"model": "claude-sonnet-4-5", "stream": True, "messages": [{"role": "user", "content": "hello"}]}


async def spent(sessions: Sessions, gateway_socket: GatewaySocket) -> tuple[float, int]:
    """Return what the sandbox was charged, which equals what its task was charged."""
    async with sessions() as session:
        sandbox, task = (
            await session.get(Sandbox, gateway_socket.sandbox.id),
            await session.get(Task, gateway_socket.task.id),
        )
    assert sandbox is not None
    assert task is not None
    assert (sandbox.cost_usd, sandbox.tokens) == (task.cost_usd, task.tokens)
    assert sandbox.simulated_cost_usd == task.simulated_cost_usd in (0, task.cost_usd)
    return round(task.cost_usd, 9), task.tokens


async def refusal(sessions: Sessions, gateway_socket: GatewaySocket) -> str | None:
    async with sessions() as session:
        sandbox = await session.get(Sandbox, gateway_socket.sandbox.id)
    assert sandbox is not None
    return sandbox.refusal


def streaming(*chunks: bytes, before_each: Callable[[int], Awaitable[None]] | None = None) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "anthropic-organization-id": "o"})
        await response.prepare(request)
        for number, chunk in enumerate(chunks):
            if before_each is not None:
                await before_each(number)
            await response.write(chunk)
        return response

    return answer


def saying(status: int, body: Any, **headers: str) -> Answer:
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.json_response(body, status=status, headers=headers)

    return answer


def error(message: str, kind: str = "api_error") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}
