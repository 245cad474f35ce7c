"""Numbering: decide what becomes of each posted event. Pure: no I/O, no clock, no randomness.

Every path that stores posted events (fast, careful, leftover spools) is built on `Numbering`, so that they all keep
the same promises: an event is stored once, listed numbers are dense, and nothing is stored beyond a gap.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Any, NamedTuple

from omoi_os.protocol.events import Event

#: The type under which a rejected event is stored: its posted number is used, its content is not kept.
REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class JudgedEvent:
    """One event that was validated and masked.

    A rejected event is already its own stub: `reason` is set, and `event` says only what was rejected and why.
    """

    event: Event
    #: `event.event_data` as JSON, the way it is stored.
    text: str = "{}"
    occurred_at: datetime | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Rejection:
    """An event that was not accepted, and why."""

    seq: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Batch:
    """The events of one request in their order, and the rejected ones that have no number to keep a stub under."""

    events: Sequence[JudgedEvent]
    unnumbered: Sequence[Rejection] = field(default=())


class StoredEvent(NamedTuple):
    """An event in a sandbox's log. `seq` is its listed number, `posted_seq` the worker's own."""

    seq: int
    event_id: str
    posted_seq: int | None
    event_type: str
    event_data: Mapping[str, Any]
    created_at: datetime


class Action(Enum):
    """What to do with one event."""

    STORE = auto()  #: add it under the next listed number
    REJECT = auto()  #: add its stub under the next listed number
    DUPLICATE = auto()  #: nothing: it is stored already
    CONFLICT = auto()  #: nothing: its posted number belongs to another event, which stays
    BEYOND_GAP = auto()  #: nothing: an earlier posted number is missing, and the worker sends both again
    LOOK_UP = auto()  #: start over with the stored events: its posted number is used, and by what is not known here


class Decision(NamedTuple):
    """What to do with one event, and the stored event that it becomes, repeats or contradicts, if there is one."""

    action: Action
    stored: StoredEvent | None = None


_BEYOND_GAP = Decision(Action.BEYOND_GAP)
_LOOK_UP = Decision(Action.LOOK_UP)


class Numbering:
    """Numbers the posted events of one sandbox, in the order in which `decide` is called.

    `last_seq` is the highest listed number, `acked_seq` the highest posted number without a gap: the one up to which
    the worker may forget its events. `stored` are events of the log. They must include every event whose id is posted
    again; with `complete`, also every event whose posted number is.
    """

    __slots__ = ("_by_id", "_by_seq", "_complete", "_new_id", "_now", "acked_seq", "last_seq")

    def __init__(
        self,
        last_seq: int,
        acked_seq: int,
        *,
        now: datetime,
        new_id: Callable[[], str],
        stored: Iterable[StoredEvent] = (),
        complete: bool = False,
    ) -> None:
        self.last_seq, self.acked_seq = last_seq, acked_seq
        self._now, self._new_id, self._complete = now, new_id, complete
        self._by_id: dict[str, StoredEvent] = {}
        self._by_seq: dict[int, StoredEvent] = {}
        for each in stored:
            self._remember(each)

    def decide(self, judged: JudgedEvent) -> Decision:
        """Decide what becomes of the next event; the numbers move on accordingly."""
        event = judged.event
        seq = event.seq
        if seq is not None and seq <= self.acked_seq:
            return self._decide_used(judged, seq)
        repeated = self._by_id.get(event.event_id) if event.event_id is not None else None
        if seq is not None and seq != self.acked_seq + 1:
            return _BEYOND_GAP if repeated is None else Decision(Action.DUPLICATE, repeated)
        if seq is not None:
            # The same event under another number uses that number all the same.
            self.acked_seq = seq
        if repeated is not None:
            return Decision(Action.DUPLICATE, repeated)
        return Decision(Action.STORE if judged.reason is None else Action.REJECT, self.append(event))

    def append(self, event: Event) -> StoredEvent:
        """Add an event under the next listed number."""
        self.last_seq += 1
        event_id = event.event_id or self._new_id()
        stored = StoredEvent(self.last_seq, event_id, event.seq, event.event_type, event.event_data, self._now)
        self._remember(stored)
        return stored

    def _decide_used(self, judged: JudgedEvent, seq: int) -> Decision:
        """Decide about an event whose posted number is acknowledged."""
        stored = self._by_seq.get(seq)
        if stored is not None:
            return Decision(Action.DUPLICATE if same_content(stored, judged) else Action.CONFLICT, stored)
        if not self._complete:
            return _LOOK_UP
        # The number was used by a repetition of an event that is stored under another one.
        repeated = self._by_id.get(judged.event.event_id or "")
        return Decision(Action.CONFLICT if repeated is None else Action.DUPLICATE, repeated)

    def _remember(self, stored: StoredEvent) -> None:
        self._by_id[stored.event_id] = stored
        if stored.posted_seq is not None:
            self._by_seq[stored.posted_seq] = stored


def same_content(stored: StoredEvent, judged: JudgedEvent) -> bool:
    """Tell whether a stored event is this one. Of rejected events no content is left to compare."""
    if judged.reason is not None or stored.event_type == REJECTED:
        return judged.reason is not None and stored.event_type == REJECTED
    event = judged.event
    return (
        event.event_id in (None, stored.event_id)
        and event.event_type == stored.event_type
        and event.event_data == stored.event_data
    )
