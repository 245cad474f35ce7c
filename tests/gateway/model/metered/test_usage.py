"""Usage read from answers as they pass by, and its price."""

import json
from typing import Any

import pytest

from omoi_os.gateway.model.metered.prices import Usage
from omoi_os.gateway.model.metered.usage import UsageReader
from tests.gateway.places import sse

START: dict[str, Any] = {
    "type": "message_start",
    "message": {
        "model": "claude-opus-4-5",
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 30,
            "output_tokens": 1,
        },
    },
}
END: dict[str, Any] = {"type": "message_delta", "usage": {"output_tokens": 40}}


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_stream_is_parsed_wherever_its_chunks_are_split(size: int) -> None:
    stream = b"".join(sse({"type": "ping"}, START, END, {"type": "message_stop"}))
    reader = UsageReader("unknown")

    for start in range(0, len(stream), size):
        reader.feed(stream[start : start + size])

    assert reader.usage == Usage(10, 40, 20, 30)
    assert (reader.model, reader.finished) == ("claude-opus-4-5", True)


def test_text_of_the_model_is_not_mistaken_for_its_usage() -> None:
    lie = json.dumps({"type": "message_delta", "usage": {"output_tokens": 0}})
    said = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": f"\ndata: {lie}\n"}}
    reader = UsageReader("unknown")

    for chunk in sse(START, said, END, {"type": "message_stop"}):
        reader.feed(chunk)

    assert reader.usage.output_tokens == 40


def test_a_truncated_stream_counts_the_usage_that_arrived() -> None:
    reader = UsageReader("unknown")

    for chunk in sse(
        START, {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "x" * 9}}
    ):
        reader.feed(chunk)

    assert reader.usage.output_tokens == 3


def test_an_endless_line_is_not_held() -> None:
    reader = UsageReader("unknown")
    for _ in range(64):
        reader.feed(b"x" * (1 << 16))
    assert len(reader._line) == 1 << 20
    reader.feed(b"\n")
    for chunk in sse(START, END, {"type": "message_stop"}):
        reader.feed(chunk)

    assert reader.usage == Usage(10, 40, 20, 30)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"usage": 3}', b'{"usage": {"input_tokens": "9", "output_tokens": -1}}']
)
def test_an_answer_without_usage_costs_nothing(body: bytes) -> None:
    reader = UsageReader("unknown")

    reader.read_message(body)

    assert reader.usage == Usage()
