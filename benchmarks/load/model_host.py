"""A model host that records when it is called and answers with one sentence."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from omoi_os.scripted_model.stream import encode, to_events

_ANSWER = {
    "id": "msg_benchmark",
    "type": "message",
    "role": "assistant",
    "model": "benchmark",
    "content": [{"type": "text", "text": "Nothing to do."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


@dataclass(slots=True)
class Call:
    """One call, answered when it is released."""

    at: float
    released: asyncio.Event = field(default_factory=asyncio.Event)


class Model:
    """Hold the first call after `expect`, so that its caller can be measured; answer all others at once."""

    def __init__(self) -> None:
        self.url = ""
        self._expected: asyncio.Future[Call] | None = None

    def expect(self) -> "asyncio.Future[Call]":
        """Return a future of the next call."""
        self._expected = asyncio.get_running_loop().create_future()
        return self._expected

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer with one streamed message."""
        call = Call(time.time())
        if self._expected is not None and not self._expected.done():
            self._expected.set_result(call)
            await call.released.wait()
        await request.read()
        body = b"".join(encode(event) for event in to_events(_ANSWER))
        return web.Response(body=body, content_type="text/event-stream")


@asynccontextmanager
async def serving() -> AsyncIterator[Model]:
    """Serve the model host on loopback."""
    model = Model()
    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/v1/messages", model.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        model.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield model
    finally:
        await runner.cleanup()
