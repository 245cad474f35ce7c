"""Downloads: large answers sent piece by piece, so many at a time, and cut off when nobody reads them."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Self

from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from omoi_os.errors import TooMany
from omoi_os.http import wire

#: So many may one user or sandbox have open, and so many all of them in one process. Each holds a piece or two.
MAX_EACH = 8
MAX_ALL = 64
#: A client that takes nothing for this long is cut off.
STALL_SECONDS = 60.0


class Downloads:
    """Counts the downloads under way, by who asked for them."""

    def __init__(self, *, each: int = MAX_EACH, total: int = MAX_ALL) -> None:
        self._each, self._total = each, total
        self._open: Counter[str] = Counter()

    def slot(self, who: str) -> "Slot":
        """Room for one more download, to be used as a context. Raises `TooMany` when there is none."""
        if self._open[who] >= self._each:
            raise TooMany(f"{self._each} downloads are under way already; read or close one of them first")
        if self._open.total() >= self._total:
            raise TooMany("too many downloads are under way; try again in a moment")
        self._open[who] += 1
        return Slot(self, who)

    def give_back(self, who: str) -> None:
        """Let the next one in."""
        self._open[who] -= 1
        if self._open[who] <= 0:
            del self._open[who]


class Slot:
    """One download's place among those under way; it is given back once."""

    def __init__(self, downloads: Downloads, who: str) -> None:
        self._downloads: Downloads | None = downloads
        self._who = who

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.give_back()

    def __del__(self) -> None:
        # An answer that was made and never sent.
        self.give_back()

    def give_back(self) -> None:
        """Let the next one in."""
        downloads, self._downloads = self._downloads, None
        if downloads is not None:
            downloads.give_back(self._who)


class Download(StreamingResponse):
    """An answer that is sent as it is read, no faster than the client takes it."""

    def __init__(
        self, pieces: AsyncIterator[bytes | str], slot: Slot, *, media_type: str, headers: Mapping[str, str]
    ) -> None:
        super().__init__(pieces, media_type=media_type, headers=dict(headers))
        self._slot = slot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all of it, or cut the connection: a client must not take a part for the whole."""

        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(STALL_SECONDS):
                    await send(message)
            except TimeoutError:
                wire.cut(scope)
                raise

        with self._slot:
            await super().__call__(scope, receive, send_in_time)
