"""Log format: one line per entry, with untrusted text escaped."""

import logging

from omoi_os.printable import one_line, printable


class Lines(logging.Formatter):
    """Escapes control characters and line breaks in messages, and indents tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the entry as text."""
        record.message = one_line(record.getMessage())
        if self.usesTime():
            record.asctime = self.formatTime(record, self.datefmt)
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        lines = printable(trace).split("\n") if trace else []
        return "\n    ".join([self.formatMessage(record), *lines])
