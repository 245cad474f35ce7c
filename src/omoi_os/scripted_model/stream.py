"""Replies in the format of the Messages API: one JSON object, or a stream of events."""

import json
import secrets
from collections.abc import Iterator
from typing import Any

from omoi_os.scripted_model.player import Reply

MODEL = "scripted"

_DELTA_CHARS = 512

Event = dict[str, Any]


def to_message(reply: Reply) -> dict[str, Any]:
    """Return the whole reply, for a request that does not stream."""
    blocks: list[dict[str, Any]] = []
    if reply.text is not None:
        blocks.append({"type": "text", "text": reply.text})
    if reply.call is not None:
        call_id = f"toolu_{secrets.token_hex(12)}"
        blocks.append({"type": "tool_use", "id": call_id, "name": reply.call.name, "input": reply.call.input})
    return {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": blocks,
        "stop_reason": "tool_use" if reply.call else "end_turn",
        "stop_sequence": None,
        "usage": reply.usage.model_dump(),
    }


def to_events(message: dict[str, Any]) -> Iterator[Event]:
    """Yield the events that stream a message."""
    usage = {**message["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}}
    for index, block in enumerate(message["content"]):
        yield from _block_events(index, block)
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": message["usage"]["output_tokens"]},
    }
    yield {"type": "message_stop"}


def cut(message: dict[str, Any]) -> Iterator[Event]:
    """Yield the events of a stream that breaks in the middle of the message's first block."""
    events = to_events(message)
    yield next(events)
    yield next(events)
    delta = next(events)
    name, value = list(delta["delta"].items())[-1]
    delta["delta"][name] = value[: len(value) // 2]
    yield delta


def encode(event: Event) -> bytes:
    """Return one server-sent event."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _block_events(index: int, block: dict[str, Any]) -> Iterator[Event]:
    if block["type"] == "text":
        empty, whole, kind, name = {**block, "text": ""}, block["text"], "text_delta", "text"
    else:
        empty, whole, kind, name = (
            {**block, "input": {}},
            json.dumps(block["input"]),
            "input_json_delta",
            "partial_json",
        )
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for start in range(0, len(whole), _DELTA_CHARS):
        delta = {"type": kind, name: whole[start : start + _DELTA_CHARS]}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
