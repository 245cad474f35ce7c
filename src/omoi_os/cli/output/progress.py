"""Shows that something is being waited for: a live line on a terminal, a line now and then elsewhere."""

import time
from typing import TextIO

from omoi_os.printable import one_line

#: How often a log, as opposed to a terminal, gets a line.
LINE_SECONDS = 10.0


class Progress:
    """What is printed while one step waits. `finish` before anything else is printed."""

    def __init__(self, out: TextIO, *, line_seconds: float = LINE_SECONDS) -> None:
        self._out = out
        self._live = out.isatty()
        self._started = self._printed = time.monotonic()
        self._line_seconds = line_seconds
        self._shown = ""

    def show(self, what: str) -> None:
        """Say what was heard last; call it as often as you like."""
        now = time.monotonic()
        text = f"      {now - self._started:.0f} s  {one_line(what)}"[:100]
        if self._live and text != self._shown:
            self._out.write(f"\r\x1b[K{text}")
            self._shown = text
        elif not self._live and now - self._printed >= self._line_seconds:
            self._out.write(f"{text}\n")
            self._printed = now
        self._out.flush()

    def finish(self) -> None:
        """Take the live line away."""
        if self._shown:
            self._out.write("\r\x1b[K")
            self._shown = ""
            self._out.flush()
