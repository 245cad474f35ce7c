"""Progress of a wait: a live line on a terminal, an occasional line elsewhere."""

import time
from typing import TextIO

from omoi_os.printable import one_line

#: Interval between two lines when the output is not a terminal.
LINE_SECONDS = 10.0


class Progress:
    """Prints the progress of one step. Call `finish` before printing anything else."""

    def __init__(self, out: TextIO, *, line_seconds: float = LINE_SECONDS) -> None:
        self._out = out
        self._live = out.isatty()
        self._started = self._printed = time.monotonic()
        self._line_seconds = line_seconds
        self._shown = ""

    def show(self, what: str) -> None:
        """Show the current state. May be called at any rate."""
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
        """Remove the live line."""
        if self._shown:
            self._out.write("\r\x1b[K")
            self._shown = ""
            self._out.flush()
