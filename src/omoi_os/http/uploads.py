"""Uploads: large bodies are received on disk, and only one at a time is read into memory."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.requests import Request

from omoi_os.errors import TooMany
from omoi_os.system.off_loop import LARGE

#: How many uploads one sandbox may have open.
MAX_EACH = 4


class Uploads:
    """Receives bodies with the memory of one, however many arrive at the same time."""

    def __init__(self, folder: Path, *, each: int = MAX_EACH) -> None:
        self._folder, self._each = folder, each
        self._open: Counter[str] = Counter()
        self._in_memory = asyncio.Lock()

    @asynccontextmanager
    async def body(self, request: Request, sandbox_id: str) -> AsyncIterator[bytes]:
        """Yield the body. Raise `TooMany` when the sandbox has too many uploads open."""
        if int(request.headers.get("content-length", LARGE + 1)) <= LARGE:
            yield await request.body()
            return
        if self._open[sandbox_id] >= self._each:
            raise TooMany(f"sandbox {sandbox_id} has {self._each} uploads open; wait until one of them is answered")
        self._open[sandbox_id] += 1
        try:
            await asyncio.to_thread(self._folder.mkdir, mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._folder) as file:
                async for chunk in request.stream():
                    file.write(chunk)
                file.seek(0)
                async with self._in_memory:
                    yield await asyncio.to_thread(file.read)
        finally:
            self._open[sandbox_id] -= 1
            if self._open[sandbox_id] <= 0:
                del self._open[sandbox_id]
