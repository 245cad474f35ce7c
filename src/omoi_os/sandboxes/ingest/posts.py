"""Posts of many sandboxes numbered at once: a sandbox's row is kept in memory while its lock is held."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from omoi_os.errors import BadToken, BeyondGap, OmoiError
from omoi_os.ids import uuid7_text
from omoi_os.masking import Masker
from omoi_os.protocol.events import EventType
from omoi_os.sandboxes.ingest.drafts import Batch, Draft
from omoi_os.sandboxes.ingest.events import REJECTED, Recorded, Rejection, is_work, stub
from omoi_os.sandboxes.ingest.log import count
from omoi_os.sandboxes.ingest.quota import MAX_EVENT_BYTES, ROW_BYTES, used_up
from omoi_os.sandboxes.service import UNKNOWN_TOKEN


@dataclass(frozen=True, slots=True)
class Received:
    """The answer to an event that came alone."""

    event_type: str
    event_id: str
    seq: int
    at: datetime


Answer = Received | Recorded
#: Sandbox, number, id, fence, posted number, type, data, source, when it happened.
Row = tuple[str, int, str, int, int | None, str, str, str, str]


def _stays() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a body: how many bytes it has, and whether they have hung up since."""

    size: int
    gone: Callable[[], bool] = _stays


class SenderGone(Exception):
    """Nobody waits for the answer any more. What is numbered is sent again."""


@dataclass(slots=True, eq=False)
class Post:
    """One body of one sandbox, and who waits for its answer."""

    sandbox_id: str
    token_hash: str
    batch: Batch
    alone: bool
    sender: Sender
    answer: "asyncio.Future[Answer]"

    @property
    def drafts(self) -> Sequence[Draft]:
        """Its events."""
        return self.batch.drafts

    def is_dropped(self) -> bool:
        """Whether its sender has hung up: the time goes to those who still wait."""
        if self.sender.gone():
            self.settle(SenderGone())
            return True
        return False

    def settle(self, outcome: "Answer | BaseException") -> None:
        """Answer whoever still waits."""
        if self.answer.done():
            return
        if isinstance(outcome, BaseException):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)


#: What is said to whom.
Answers = list[tuple[Post, "Answer | OmoiError"]]


class NeedsLook(Exception):
    """The post cannot be answered from the sandbox's row alone."""


@dataclass(slots=True)
class Standing:
    """A sandbox's row, as far as events change it, and the events that are to be added."""

    sandbox_id: str
    token_hash: str
    fence: int
    last_seq: int
    acked_seq: int
    event_counts: dict[str, int]
    event_bytes: int = 0
    #: What the new events add to that, and where it ends.
    added_bytes: int = 0
    max_bytes: int = MAX_EVENT_BYTES
    heartbeat_at: datetime | None = None
    work_at: datetime | None = None
    rows: list[Row] = field(default_factory=list)
    event_ids: set[str] = field(default_factory=set)

    def take_all(self, posts: Sequence[Post], masker: Masker, *, now: datetime) -> Answers:
        """Number the events of posts in their order, as far as they were sent with the sandbox's token."""
        good = self.token_hash
        return [
            (post, self.take(post, masker, now=now) if post.token_hash == good else BadToken(UNKNOWN_TOKEN))
            for post in posts
        ]

    def take(self, post: Post, masker: Masker, *, now: datetime) -> "Answer | OmoiError":
        """Number the events of a post; the answer holds once the rows are committed. `NeedsLook` changes nothing."""
        if self.event_bytes + self.added_bytes >= self.max_bytes:
            return used_up(self.sandbox_id, self.max_bytes)
        recorded = Recorded(rejected=list(post.batch.unnumbered))
        for draft in post.drafts:
            seq = draft.event.seq
            if seq is not None and seq <= self.acked_seq:
                if post.alone:
                    raise NeedsLook
                recorded.duplicates += 1
                continue
            if seq is not None and seq != self.acked_seq + 1:
                if post.alone:
                    return BeyondGap(seq, self.acked_seq)
                continue
            received = self._add(draft, masker, now=now)
            if post.alone:
                return received
            if draft.reason is None:
                recorded.accepted += 1
            else:
                recorded.rejected.insert(
                    len(recorded.rejected) - len(post.batch.unnumbered), Rejection(seq, draft.reason)
                )
        recorded.last_seq = self.acked_seq
        return recorded

    def _add(self, draft: Draft, masker: Masker, *, now: datetime) -> Received:
        event, text = draft.event, draft.text
        if draft.reason is not None:
            event = stub(event, draft.reason)
            text = masker.dump(event.event_data)
        event_id = event.event_id or uuid7_text()
        if event_id in self.event_ids:
            raise NeedsLook
        self.event_ids.add(event_id)
        self.last_seq += 1
        self.acked_seq = event.seq or self.acked_seq
        event_type = event.event_type
        count(self.event_counts, event_type)
        if event_type == EventType.AGENT_HEARTBEAT:
            self.heartbeat_at = now
        if event_type != REJECTED and is_work(event):
            self.work_at = now
        occurred_at = (draft.occurred_at or now).isoformat()
        self.added_bytes += len(text) + ROW_BYTES
        self.rows.append(
            (
                *(self.sandbox_id, self.last_seq, event_id, self.fence, event.seq),
                *(event_type, text, event.source, occurred_at),
            )
        )
        return Received(event_type, event_id, self.last_seq, now)
