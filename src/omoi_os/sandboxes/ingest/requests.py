"""Requests that post events, while they wait to be stored."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from omoi_os.errors import OmoiError
from omoi_os.sandboxes.ingest.event_log import Answer
from omoi_os.sandboxes.ingest.numbering import Batch


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Sender:
    """The client of a request: how many bytes it sent, and whether it has disconnected since."""

    size: int
    gone: Callable[[], bool] = _never


class SenderGone(Exception):
    """The client disconnected before its events were stored. It sends numbered events again."""


@dataclass(slots=True, eq=False)
class EventRequest:
    """The events of one request and the future that its answer is awaited on."""

    sandbox_id: str
    token_hash: str
    batch: Batch
    #: Whether it is one event on the route for single events.
    alone: bool
    sender: Sender
    answer: "asyncio.Future[Answer]"

    def is_dropped(self) -> bool:
        """Tell whether the client has disconnected; if so, the request is settled and must not be stored."""
        if self.sender.gone():
            self.settle(SenderGone())
            return True
        return False

    def settle(self, outcome: "Answer | BaseException") -> None:
        """Answer the request, unless it has been answered or cancelled."""
        if self.answer.done():
            return
        if isinstance(outcome, BaseException):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)


Answers = list[tuple[EventRequest, "Answer | OmoiError"]]
