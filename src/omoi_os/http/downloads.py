"""Downloads: large responses sent piece by piece, limited in number, and aborted when the client stops reading."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Self

from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from omoi_os.errors import TooMany
from omoi_os.http import wire

#: How many downloads one user or sandbox, and one process, may have open. Each keeps one or two pieces in memory.
MAX_EACH = 8
MAX_ALL = 64
#: A client that reads nothing for this long is disconnected.
STALL_SECONDS = 60.0


class Downloads:
    """Counts the open downloads of each user or sandbox."""

    def __init__(self, *, each: int = MAX_EACH, total: int = MAX_ALL) -> None:
        self._each, self._total = each, total
        self._open: Counter[str] = Counter()

    def slot(self, client: str) -> "Slot":
        """Acquire a slot for one more download, to be used as a context. Raise `TooMany` when there is none."""
        if self._open[client] >= self._each:
            raise TooMany(f"you have {self._each} downloads open; finish or close one of them first")
        if self._open.total() >= self._total:
            raise TooMany("too many downloads are open on this server; try again in a moment")
        self._open[client] += 1
        return Slot(self, client)

    def release(self, client: str) -> None:
        """Release a slot."""
        self._open[client] -= 1
        if self._open[client] <= 0:
            del self._open[client]


class Slot:
    """The slot of one download; releasing it again does nothing."""

    def __init__(self, downloads: Downloads, client: str) -> None:
        self._downloads: Downloads | None = downloads
        self._client = client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.release()

    def __del__(self) -> None:
        # A response that was created and never sent.
        self.release()

    def release(self) -> None:
        """Release the slot."""
        downloads, self._downloads = self._downloads, None
        if downloads is not None:
            downloads.release(self._client)


class Download(StreamingResponse):
    """A response that is read from its source no faster than the client reads it."""

    def __init__(
        self, pieces: AsyncIterator[bytes | str], slot: Slot, *, media_type: str, headers: Mapping[str, str]
    ) -> None:
        super().__init__(pieces, media_type=media_type, headers=dict(headers))
        self._slot = slot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all of it, or abort the connection: a client must not mistake a part for the whole."""

        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(STALL_SECONDS):
                    await send(message)
            except TimeoutError:
                wire.cut(scope)
                raise

        with self._slot:
            await super().__call__(scope, receive, send_in_time)
