"""Live events of a sandbox: each once and in order, across lost connections."""

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx

from omoi_os.cli.remote.client import PATIENCE_SECONDS, Client
from omoi_os.cli.remote.connection import path_of
from omoi_os.errors import NotFound, NotReady, OmoiError
from omoi_os.sandboxes.lifecycle import ENDED
from omoi_os.tasks.lifecycle import TaskState

#: The server sends a keep-alive every 15 s, so a connection that is silent for this long is dead.
SILENCE_SECONDS = 45.0
_PAUSE_SECONDS = 0.25

Event = dict[str, Any]


def follow(client: Client, sandbox_id: str, *, patience: float = PATIENCE_SECONDS) -> Iterator[Event]:
    """Yield every event from the first on, until the sandbox has ended and its result is verified.

    Raises `NotReady` when the platform is unreachable for longer than `patience`.
    """
    after, lost_since = 0, None
    path = path_of(sandbox_id, "/events/stream")
    while True:
        try:
            with client.stream(path, since=after, silence=SILENCE_SECONDS) as chunks:
                lost_since = None
                for event in parse(chunks):
                    if event["seq"] > after:
                        after = event["seq"]
                        yield event
            if _is_over(client, sandbox_id, after):
                return
        except (httpx.TransportError, NotReady) as error:
            lost_since = lost_since or time.monotonic()
            if time.monotonic() - lost_since > patience:
                reason = str(error) or type(error).__name__
                raise NotReady(f"{client.url} is unreachable ({reason}); the last event was {after}") from error
        time.sleep(_PAUSE_SECONDS)


def parse(chunks: Iterator[bytes]) -> Iterator[Event]:
    """Yield the events of a stream. An incomplete event at its end is dropped."""
    waiting: list[bytes] = []
    for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            waiting.append(line)
            text = b"".join(waiting)
            waiting.clear()
            if text.startswith(b"data:"):
                yield _event(text.removeprefix(b"data:"))
        waiting.append(rest)


def _event(line: bytes) -> Event:
    try:
        event = json.loads(line)
        event["seq"], event["event_type"], event["event_data"]
    except (ValueError, TypeError, KeyError):
        raise OmoiError("the answer is not a stream of events; is another program listening there?") from None
    return dict(event)


def _is_over(client: Client, sandbox_id: str, after: int) -> bool:
    """Return whether a closed stream was complete. A stopping server closes streams too.

    The task is read first: once its verification has ended, `last_seq` of the sandbox includes the verdict.
    """
    try:
        task = client.get(path_of(sandbox_id, "/task"))
    except NotFound:
        # It serves a spec, and no verdict follows.
        task = None
    sandbox = client.get(path_of(sandbox_id))
    is_verifying = task is not None and task["sandbox_id"] == sandbox_id and task["status"] == TaskState.VERIFYING
    complete = sandbox["last_seq"] <= after or sandbox["pruned_at"] is not None
    return sandbox["status"] in ENDED and complete and not is_verifying
