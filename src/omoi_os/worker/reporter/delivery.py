"""Delivery: send the spool in batches until they are acknowledged, and heartbeats beside them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, NoReturn

from omoi_os.protocol.events import Event, EventSource, EventType, blob_digests
from omoi_os.worker.reporter.api import Api
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.http import Answer, HttpError
from omoi_os.worker.reporter.spool import Spool

MAX_BATCH_EVENTS = 100
MAX_BATCH_BYTES = 512 * 1024
#: The first event after a pause is sent at once; later ones when a batch is full or after this time.
FLUSH_SECONDS = 0.05
FIRST_WAIT_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 5.0
HEARTBEAT_TIMEOUT_SECONDS = 10.0


class _Refused(Exception):
    """The server will not accept this batch: it is too large or invalid."""


class _Busy(HttpError):
    """The server accepts nothing now, and may have said for how long."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"the server is busy: {answer.status}")
        self.seconds = answer.retry_after()


async def deliver(
    spool: Spool, api: Api, *, blobs: Blobs, sent: int | None = None, flush_seconds: float = FLUSH_SECONDS
) -> NoReturn:
    """Send what is spooled, forever, through any outage. Raises `Superseded`.

    `sent` is the connection on which the first stage posted the first event; without an answer it is sent again.
    """
    if sent is not None:
        with contextlib.suppress(HttpError, _Refused):
            spool.acknowledge(_last_seq(await api.answer_to_first(sent)))
    limit = MAX_BATCH_EVENTS
    wait = FIRST_WAIT_SECONDS
    flushed = float("-inf")
    while True:
        await spool.wait_for_events()
        rest = flushed + flush_seconds - time.monotonic()
        if rest > 0:
            await spool.wait_for_bulk(events=limit, size=MAX_BATCH_BYTES, seconds=rest)
        flushed = time.monotonic()
        batch = spool.batch(max_events=limit, max_bytes=MAX_BATCH_BYTES)
        before = spool.acked
        asked = 0.0
        try:
            await spool.sync()
            spool.acknowledge(await _send(batch, api, blobs=blobs))
        except _Refused:
            # Halve the batch until only the refused event is left; that one is replaced.
            if len(batch) > 1:
                limit = max(1, len(batch) // 2)
                continue
            await _send_stub(batch[0], spool=spool, api=api)
        except _Busy as busy:
            asked = busy.seconds
        except (HttpError, OSError):
            pass
        if spool.acked > before:
            limit, wait = min(MAX_BATCH_EVENTS, limit * 2), FIRST_WAIT_SECONDS
        else:
            # Respect Retry-After, and do not let all workers retry at the same moment.
            await asyncio.sleep(asked + wait * random.uniform(0.5, 1.0))  # noqa: S311
            wait = min(LONGEST_WAIT_SECONDS, wait * 2)


async def _send(batch: list[Event], api: Api, *, blobs: Blobs) -> int:
    """Upload the blobs of a batch, then post it. Return the last number that the server has."""
    for event in batch:
        await _put_blobs(event, api, blobs=blobs)
    return _last_seq(await api.post_batch([json.dumps(event.to_json()).encode() for event in batch]))


def _last_seq(answer: Answer) -> int:
    if answer.status in (400, 413, 422):
        raise _Refused
    if answer.status in (429, 503):
        raise _Busy(answer)
    if answer.status >= 300:
        raise HttpError(f"the batch was answered with {answer.status}")
    last_seq = answer.json().get("last_seq")
    if not isinstance(last_seq, int):
        raise HttpError("the answer to a batch has no last_seq")
    return last_seq


async def _put_blobs(event: Event, api: Api, *, blobs: Blobs) -> None:
    """Upload the blobs of an event that are still here."""
    for digest in blob_digests(event.event_data):
        content = blobs.find(digest)
        if content is None:
            continue
        answer = await api.put_blob(digest, content)
        if answer.status in (429, 503):
            raise _Busy(answer)
        if answer.status >= 500 or answer.status in (404, 408):
            raise HttpError(f"the blob was answered with {answer.status}")
        # Any other refusal is final: an event without its blob is better than none.
        blobs.forget(digest)


async def _send_stub(event: Event, *, spool: Spool, api: Api) -> None:
    """Send a small event in place of a refused one, so that the others can follow."""
    data: dict[str, Any] = {"dropped": "The server refused this event.", "size": len(json.dumps(event.event_data))}
    try:
        answer = await api.post_batch([json.dumps(replace(event, event_data=data).to_json()).encode()])
        last_seq = answer.json().get("last_seq") if answer.status < 300 else None
    except HttpError:
        return
    if isinstance(last_seq, int):
        spool.acknowledge(last_seq)


async def beat(api: Api, status: Callable[[], Awaitable[dict[str, Any]]], *, every: float) -> NoReturn:
    """Send heartbeats, whatever the agent does. A failed one is not repeated. Raises `Superseded`."""
    while True:
        await asyncio.sleep(every)
        event = Event(EventType.AGENT_HEARTBEAT, await status(), source=EventSource.WORKER)
        try:
            await api.post_event(event, timeout=min(HEARTBEAT_TIMEOUT_SECONDS, api.timeout))
        except HttpError:
            continue
