"""One request of a git client: its body is read piece by piece, and a client that stops is disconnected."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.types import Message

from omoi_os.api.git import client as module
from omoi_os.api.git.client import Body, Client, ClientGone
from omoi_os.forges.smart_http.http_backend import Answer
from omoi_os.http.wire import CUT


def body_of(*pieces: bytes, ends: bool = True) -> Body:
    messages: list[Message] = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages.append({"type": "http.request", "body": b"", "more_body": False} if ends else {"type": "http.disconnect"})

    async def receive() -> Message:
        return messages.pop(0)

    return Body(receive)


async def rest(body: Body, *, limit: int = 100, first: bytes = b"") -> Sequence[bytes]:
    return [piece async for piece in body.pieces(limit=limit, first=first)]


async def test_lines_are_read_across_pieces_and_the_rest_follows() -> None:
    body = body_of(b"00", b"0Aabc", b"defpack", b"more")

    assert [await body.readexactly(4), await body.readexactly(6)] == [b"000A", b"abcdef"]
    assert await rest(body, first=b"000Aabcdef") == [b"000Aabcdef", b"pack", b"more"]


async def test_a_body_that_ends_too_early_is_incomplete() -> None:
    with pytest.raises(asyncio.IncompleteReadError):
        await body_of(b"00").readexactly(4)


async def test_a_body_beyond_its_limit_is_cut_off() -> None:
    assert await rest(body_of(b"abc", b"def", b"ghi"), limit=7) == [b"abc", b"def"]


async def test_a_client_that_disconnects_within_its_body_is_gone() -> None:
    with pytest.raises(ClientGone):
        await rest(body_of(b"abc", ends=False))


@pytest.mark.parametrize("stops", [False, True])
async def test_a_client_that_stops_reading_is_disconnected(monkeypatch: pytest.MonkeyPatch, stops: bool) -> None:
    monkeypatch.setattr(module, "STALL_SECONDS", 0.05)
    cut, sent = asyncio.Event(), []
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "headers": [],
        "extensions": {CUT: cut.set},
    }

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        if stops and message["type"] == "http.response.body":
            await asyncio.Event().wait()
        sent.append(message)

    async def pieces() -> Any:
        yield b"pack"

    passing = Client(scope, receive, send).pass_back(Answer(200, {"Content-Type": "text/plain"}, pieces()))
    if stops:
        with pytest.raises(ClientGone):
            await passing
    else:
        await passing

    assert cut.is_set() == stops
    assert len(sent) == (1 if stops else 3)
