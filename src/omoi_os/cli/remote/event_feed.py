"""A sandbox's events as they come, over breaks of the connection: each once, in order, none left out."""

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx

from omoi_os.cli.remote.client import PATIENCE_SECONDS, Client
from omoi_os.cli.remote.connection import path_of
from omoi_os.errors import NotReady, OmoiError
from omoi_os.sandboxes.lifecycle import ENDED
from omoi_os.tasks.lifecycle import TaskState

#: The server says that it is still there every 15 s; a connection that is silent for longer is dead.
SILENCE_SECONDS = 45.0
_PAUSE_SECONDS = 0.25

Event = dict[str, Any]


def follow(client: Client, sandbox_id: str, *, patience: float = PATIENCE_SECONDS) -> Iterator[Event]:
    """Every event from the first on. Ends when the sandbox has ended and its result was checked.

    `NotReady` when the platform is away for longer than `patience`.
    """
    after, away_since = 0, None
    path = path_of(sandbox_id, "/events/stream")
    while True:
        try:
            with client.stream(path, since=after, silence=SILENCE_SECONDS) as chunks:
                away_since = None
                for event in parse(chunks):
                    if event["seq"] > after:
                        after = event["seq"]
                        yield event
            if _is_over(client, sandbox_id, after):
                return
        except (httpx.TransportError, NotReady) as error:
            away_since = away_since or time.monotonic()
            if time.monotonic() - away_since > patience:
                raise NotReady(
                    f"{client.url} is away ({str(error) or type(error).__name__}); the last event heard is {after}"
                ) from error
        time.sleep(_PAUSE_SECONDS)


def parse(chunks: Iterator[bytes]) -> Iterator[Event]:
    """The events of a stream; half of one at its end is none."""
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
        raise OmoiError("what comes is no stream of events; is another program listening there?") from None
    return dict(event)


def _is_over(client: Client, sandbox_id: str, after: int) -> bool:
    """Whether a stream that was closed had nothing more to tell; one of a server that stops looks alike.

    The task is asked first: once it is no longer being verified, what was found out is counted in the sandbox's row.
    """
    task = client.get(path_of(sandbox_id, "/task"))
    sandbox = client.get(path_of(sandbox_id))
    being_verified = task["sandbox_id"] == sandbox_id and task["status"] == TaskState.VERIFYING
    told = sandbox["last_seq"] <= after or sandbox["pruned_at"] is not None
    return sandbox["status"] in ENDED and told and not being_verified
