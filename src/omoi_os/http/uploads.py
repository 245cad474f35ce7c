"""Uploads: large bodies are received on disk, and one at a time is read into memory."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.requests import Request

from omoi_os.errors import TooMany
from omoi_os.system.off_loop import LARGE

#: So many may one sandbox send at a time.
MAX_EACH = 4


class Uploads:
    """Receives bodies. However many arrive, and however slowly, the memory of one is enough."""

    def __init__(self, folder: Path, *, each: int = MAX_EACH) -> None:
        self._folder, self._each = folder, each
        self._open: Counter[str] = Counter()
        self._in_memory = asyncio.Lock()

    @asynccontextmanager
    async def body(self, request: Request, who: str) -> AsyncIterator[bytes]:
        """The body, for as long as the block runs. Raises `TooMany` for one that sends too many at a time."""
        if int(request.headers.get("content-length", LARGE + 1)) <= LARGE:
            yield await request.body()
            return
        if self._open[who] >= self._each:
            raise TooMany(f"{self._each} uploads of {who} are under way; wait for the answers")
        self._open[who] += 1
        try:
            await asyncio.to_thread(self._folder.mkdir, mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder) as file:
                async for chunk in request.stream():
                    file.write(chunk)
                file.seek(0)
                async with self._in_memory:
                    yield await asyncio.to_thread(file.read)
        finally:
            self._open[who] -= 1
            if self._open[who] <= 0:
                del self._open[who]
