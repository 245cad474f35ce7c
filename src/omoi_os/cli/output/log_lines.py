"""The log of a part of the platform: one entry, one line, whatever strangers have written into it."""

import logging

from omoi_os.printable import one_line, printable


class Lines(logging.Formatter):
    """Writes out what a terminal would act on or what would pass for another entry; tracebacks are set in."""

    def format(self, record: logging.LogRecord) -> str:
        """The entry."""
        record.message = one_line(record.getMessage())
        if self.usesTime():
            record.asctime = self.formatTime(record, self.datefmt)
        more = self.formatException(record.exc_info) if record.exc_info else ""
        lines = printable(more).split("\n") if more else []
        return "\n    ".join([self.formatMessage(record), *lines])
