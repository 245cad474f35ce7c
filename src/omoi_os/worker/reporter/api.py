"""The API calls of a sandbox: its own events, blobs, transcript, messages and task."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from omoi_os.protocol.events import Event
from omoi_os.protocol.messages import Message
from omoi_os.worker.reporter import http

#: Longer than the gateway port waits for the gateway, so that a restart of the gateway is not an error.
TIMEOUT_SECONDS = 60.0

#: A longer conversation would not fit any model.
MAX_SESSION_BYTES = 64 * 1024 * 1024


class Superseded(Exception):
    """The platform has ended this attempt and accepts nothing more from it."""


@dataclass(frozen=True, slots=True)
class Api:
    """The API for one sandbox. Every call may raise `http.HttpError` or `Superseded`."""

    #: `CALLBACK_URL`: the sandbox's events endpoint.
    events_url: str
    token: str
    #: The timeout of requests that do not set another.
    timeout: float = TIMEOUT_SECONDS

    async def post_batch(self, events: Sequence[bytes]) -> http.Answer:
        """Post events that are encoded as JSON."""
        body = b'{"events":[' + b",".join(events) + b"]}"
        return await self._send("POST", self.events_url + "/batch", body=body, content_type="application/json")

    async def answer_to_first(self, connection: int) -> http.Answer:
        """Return the answer to the batch that the first stage posted on this descriptor."""
        answer = await http.receive(socket.socket(fileno=connection), timeout=self.timeout)
        return _checked(answer, f"POST {self.events_url}/batch")

    async def post_event(self, event: Event, *, timeout: float) -> http.Answer:
        """Post one event without retries."""
        body = json.dumps(event.to_json()).encode()
        return await self._send("POST", self.events_url, body=body, content_type="application/json", timeout=timeout)

    async def put_blob(self, digest: str, content: Path | bytes) -> http.Answer:
        """Upload a large value under its SHA-256."""
        return await self._send(
            "PUT", f"{self._sandbox}/blobs/{digest}", body=content, content_type="application/octet-stream"
        )

    async def put_transcript(self, session_id: str, part: http.FilePart, *, timeout: float) -> http.Answer:
        """Upload a part of the transcript. The status is 409 if it does not follow what the server has."""
        return await self._send(
            "PUT",
            f"{self._sandbox}/transcript?session_id={quote(session_id, safe='')}&offset={part.start}",
            body=part,
            content_type="application/x-ndjson",
            timeout=timeout,
        )

    async def get_task(self) -> dict[str, Any]:
        """Return the task, for a description that is too long for a variable."""
        answer = await self._send("GET", f"{self._sandbox}/task")
        if answer.status != 200:
            raise http.HttpError(f"GET {self._sandbox}/task answered {answer.status}")
        return answer.json()

    async def poll_messages(self, *, wait: float, after: str | None = None) -> list[Message]:
        """Wait for unacknowledged messages after the id `after`, oldest first."""
        beyond = f"&after={quote(after, safe='')}" if after else ""
        url = f"{self._sandbox}/messages?wait={wait:g}{beyond}"
        answer = await self._send("GET", url, timeout=wait + self.timeout)
        items = answer.json().get("items") if answer.status == 200 else None
        if not isinstance(items, list):
            raise http.HttpError(f"GET {url} answered {answer.status}")
        try:
            return [Message.from_json(item) for item in items]
        except ValueError as error:
            raise http.HttpError(f"GET {url} answered with an item that is {error}") from None

    async def acknowledge_messages(self, message_ids: Sequence[str]) -> None:
        """Acknowledge messages, so that the server does not return them again. Can be repeated."""
        body = json.dumps({"message_ids": list(message_ids)}).encode()
        url = f"{self._sandbox}/messages/ack"
        answer = await self._send("POST", url, body=body, content_type="application/json")
        if answer.status != 200:
            raise http.HttpError(f"POST {url} answered {answer.status}")

    async def get_session(self) -> tuple[str, bytes] | None:
        """Return the id and transcript of the conversation that this attempt resumes, or None."""
        answer = await self._send("GET", f"{self._sandbox}/session", max_bytes=MAX_SESSION_BYTES)
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise http.HttpError(f"GET {self._sandbox}/session answered {answer.status}")
        return answer.headers.get("x-session-id", ""), answer.body

    @property
    def _sandbox(self) -> str:
        return self.events_url.removesuffix("/events")

    async def _send(
        self,
        method: str,
        url: str,
        *,
        body: bytes | Path | http.FilePart = b"",
        content_type: str | None = None,
        timeout: float | None = None,
        max_bytes: int = http.MAX_ANSWER_BYTES,
    ) -> http.Answer:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        if content_type:
            headers["Content-Type"] = content_type
        limit = self.timeout if timeout is None else timeout
        answer = await http.request(method, url, headers=headers, body=body, timeout=limit, max_bytes=max_bytes)
        return _checked(answer, f"{method} {url}")


def _checked(answer: http.Answer, request: str) -> http.Answer:
    if answer.status == 401 or (answer.status == 409 and not _is_conflict(answer)):
        raise Superseded(f"{request} answered {answer.status}")
    return answer


def _is_conflict(answer: http.Answer) -> bool:
    """Return whether a 409 concerns the content of a request and not its sender."""
    try:
        return answer.json().get("code") == "conflict"
    except http.HttpError:
        return False
