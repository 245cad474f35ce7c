"""Every parser, scanner and masker of untrusted input takes time linear in its size, whatever the input is."""

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from aiohttp import StreamReader
from aiohttp.base_protocol import BaseProtocol
from fastapi.exceptions import RequestValidationError

from omoi_os.errors import OmoiError
from omoi_os.forges.smart_http.push_commands import read_push
from omoi_os.gateway.model.metered.usage import UsageReader
from omoi_os.gateway.model.requests import read_request
from omoi_os.http.paging import MAX_CURSOR, number
from omoi_os.http.paging import decode as decode_cursor
from omoi_os.masking import Masker
from omoi_os.printable import one_line, printable
from omoi_os.projects import schemas as projects
from omoi_os.protocol.messages import contents, ids_in, ids_in_conversation
from omoi_os.protocol.spool import read_frames
from omoi_os.sandboxes.artifacts import blobs, transcripts
from omoi_os.sandboxes.artifacts.wording import render
from omoi_os.sandboxes.ingest import parsing
from omoi_os.scripted_model.conversation import handed_over, read_conversation, split_notes
from omoi_os.stream import lines
from omoi_os.strict_json import elements, parse, scalar
from omoi_os.web import pages
from omoi_os.worker.repository.diffs import diff_texts
from omoi_os.worker.repository.patches import read_edits

KIB = 1024
#: From 10 KB to 4 MB in steps, so that what grows faster is found before it takes hours.
SIZES = (10 * KIB, 320 * KIB, 4096 * KIB)
#: So much more may a byte cost in a large input than in a small one. What is quadratic costs 32 times as
#: much for each byte after the first step, and four hundred times after the last.
FACTOR = 10.0
#: A byte that costs less than this is not worth comparing: caches and allocations decide.
CHEAP_SECONDS = 25e-9
TRIES = 3

MASKER = Masker(["sk-ant-the-key-of-this-installation", "ghp_" + "k" * 36, "omoi_" + "A" * 40])
_ID = "018f3c2e-7b1a-7c3d-9a57-3f0d2b6c1e44"
_MARK = f"[message {_ID} user_message from user:a@b.c]\n"

#: Pieces that hostile inputs are made of: a beginning, and what is repeated behind it.
HOSTILE: dict[str, tuple[str, str]] = {
    "escaped quotes without an end": ('{"events":[{"a":"', '\\"'),
    "backslashes": ('{"events":["', "\\"),
    "quotes": ("{", '"'),
    "empty strings": ('{"events":[', '"",'),
    "opening brackets": ('{"events":', "["),
    "opening braces": ("", '{"events":'),
    "closing brackets": ('{"events":[', "]"),
    "empty lists": ('{"events":[', "[],"),
    "empty objects": ('{"events":[', "{},"),
    "spaces": ('{"events":[', " "),
    "digits": ('{"events":[', "9" * 299 + ","),
    "one number": ('{"seq":', "1"),
    "exponents": ('{"events":[', "1e+"),
    "keys without an end": ("", "-----BEGIN RSA PRIVATE KEY-----\n"),
    "keys that almost begin": ("", "-----BEGIN PRIVATE KEY"),
    "one endless first line": ("-----BEGIN ", "PRIVATE KEY "),
    "ends without a beginning": ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY"),
    "dashes": ("", "-----"),
    "almost tokens": ("", "sk-ant-abcdefghijklmno ghp_aaaa AKIA0 xoxb- "),
    "one endless token": ("sk-ant-", "a"),
    "prefixes of tokens": ("", "sk-ant-"),
    "prefixes of a known value": ("", "sk-ant-the-key-of-this-installatio"),
    "hexadecimal": ("", "736b2d616e742d7468652d6b65792d"),
    "lines": ("", "\n"),
    "control characters": ("", "\x1b\u2028"),
    "message marks without an end": ("", _MARK),
    "almost message marks": ("", f"[message {_ID[:-1]}"),
    "openers of notes": ("", "<system-reminder>"),
    "hooks": ("", "\nPostToolUse: hook additional context: "),
    "frames that begin": ("", '{"event_type"'),
    "usage lines": ("", 'data: {"type":"message_delta","usage":{"output_tokens":1}}\n'),
    "patches that begin": (":100644 100644 a b M\0f\0", "\ndiff --git "),
    "dots": ("/", "a."),
    "slashes": ("/", "a/"),
}


def hostile(name: str, size: int) -> str:
    start, piece = HOSTILE[name]
    return start + piece * max(1, (size - len(start)) // len(piece))


def _feed(text: str) -> None:
    reader = UsageReader()
    raw = text.encode()
    for first in range(0, len(raw), 64 * KIB):
        reader.feed(raw[first : first + 64 * KIB])
    reader.read_message(raw)


def _push(text: str) -> None:
    raw = b"".join(f"{len(line) + 4:04x}".encode() + line for line in _cut(text.encode(), 60_000)) + b"0000"

    async def read() -> None:
        loop = asyncio.get_running_loop()
        body = StreamReader(BaseProtocol(loop), limit=2**30, loop=loop)
        body.feed_data(raw)
        body.feed_eof()
        await read_push(body)

    asyncio.run(read())


def _cut(raw: bytes, size: int) -> list[bytes]:
    return [raw[first : first + size] for first in range(0, len(raw), size)]


def _spool(text: str) -> None:
    """Frames of which none is sound, and each of which says that it is as long as all that follows."""
    body = text.encode()
    read_frames(b"".join(b"\xff\xff\x0f\x00\0\0\0\0" + piece for piece in _cut(body, 512)))


def _batch(text: str) -> None:
    parsing._parse_batch(text.encode(), MASKER)


def _posted(text: str) -> None:
    body = json.dumps({"event_type": "agent.message", "event_data": {"text": text, text[:50]: [text]}, "seq": 1})
    parsing._parse_one(body.encode(), MASKER)


def _request(text: str) -> None:
    block = {"type": "tool_result", "content": text}
    read_conversation({"messages": [{"role": "user", "content": [block, {"type": "text", "text": text}]}]})


Parser = Callable[[str], object]
_NAMES = list(HOSTILE)
_JSON = tuple(_NAMES[: _NAMES.index("exponents") + 1])
_SECRETS = tuple(_NAMES[_NAMES.index("keys without an end") : _NAMES.index("hexadecimal") + 1])
_MARKS = ("message marks without an end", "almost message marks", "openers of notes", "hooks")
_PRINTED = ("control characters", "lines")

#: Each with the inputs that could hurt it.
PARSERS: dict[str, tuple[Parser, tuple[str, ...]]] = {
    "JSON bodies": (lambda text: parse(text.encode()), _JSON),
    "elements of broken JSON": (lambda text: elements(text.encode(), "events"), _JSON),
    "scalars of broken JSON": (lambda text: scalar(text.encode(), "seq"), _JSON[:6]),
    "batches": (_batch, _JSON[:9]),
    "events": (_posted, (*_SECRETS[:3], "escaped quotes without an end", "control characters")),
    "masking": (MASKER.mask_text, (*_SECRETS, "lines", "spaces")),
    "masking of values": (lambda text: MASKER.dump({"a": [text], text: 1}), _SECRETS[:4]),
    "blobs": (lambda text: blobs.masked(text.encode(), MASKER), _SECRETS[:3]),
    "transcripts": (lambda text: transcripts.pack(text.encode(), MASKER, start=0), (*_SECRETS[:2], "lines")),
    "sessions of transcripts": (lambda text: transcripts.session_of(text.encode()), _JSON[:6]),
    "spools": (_spool, ("frames that begin", "escaped quotes without an end", "digits")),
    "message marks": (contents, _MARKS),
    "message marks in requests": (lambda text: ids_in(text.encode()), _MARKS),
    "requests to the model": (lambda text: read_request(text.encode()), _JSON[:9]),
    "messages in transcripts": (lambda text: ids_in_conversation(text.encode()), (*_MARKS[:2], "lines")),
    "usage in answers": (_feed, ("usage lines", "lines", "opening braces")),
    "pushes": (_push, ("digits", "spaces")),
    "terminal text": (printable, _PRINTED),
    "terminal lines": (one_line, _PRINTED[:1]),
    "stream lines": (lines.one_line, _PRINTED),
    "log lines": (lambda text: render("agent.message", {"text": text}, at=datetime.now(UTC)), _PRINTED),
    "notes in requests": (split_notes, _MARKS),
    "messages in notes": (handed_over, _MARKS),
    "requests to the scripted model": (_request, _MARKS),
    "cursors": (lambda text: decode_cursor("events", text[:MAX_CURSOR], number), ("digits", "opening brackets")),
    "branch names": (projects._BRANCH.fullmatch, ("dots", "slashes", "dashes")),
    "paths of files": (pages._FILE.fullmatch, ("dots", "slashes", "dashes")),
    "patches": (lambda text: read_edits(text.encode(), most=500, whole=False), ("patches that begin", "lines")),
    "diffs of files": (lambda text: diff_texts("a", text, text[1:] + "x"), ("lines", "dots")),
}


def _seconds(parser: Parser, text: str) -> float:
    """Processor time, which a busy machine does not change much."""
    start = time.thread_time()
    # A refusal is as good an answer as any other; how long it takes is what counts.
    with suppress(ValueError, OmoiError, RecursionError, RequestValidationError):
        parser(text)
    return time.thread_time() - start


def _cost(parser: Parser, family: str, size: int, *, enough: float) -> float:
    """Seconds for each byte, at best of some tries; small inputs are repeated until they can be measured."""
    text = hostile(family, size)
    repeats = max(1, 256 * KIB // size)
    best = float("inf")
    for _ in range(TRIES):
        best = min(best, sum(_seconds(parser, text) for _ in range(repeats)) / repeats / size)
        if best <= enough:
            break
    return best


@pytest.mark.parametrize("name", PARSERS)
def test_time_grows_with_the_size_alone(name: str) -> None:
    parser, families = PARSERS[name]
    for family in families:
        first = max(_cost(parser, family, SIZES[0], enough=0.0), CHEAP_SECONDS)
        for size in SIZES[1:]:
            cost = _cost(parser, family, size, enough=FACTOR * first)
            assert cost <= FACTOR * first, f"{family}, {size} bytes: {cost / first:.0f} times as much for each byte"
