"""Where a reader is in the outbox."""

import re
from typing import NamedTuple

from omoi_os.errors import Invalid

_WRITTEN = re.compile(r"(0|[1-9]\d{0,18})-(0|[1-9]\d{0,18})-(0|[1-9]\d{0,18})", re.ASCII)
#: Behind every event of a run.
LAST = 2**63 - 1


class Position(NamedTuple):
    """Behind this row of the outbox and, where that is a run of events, behind the event with this number."""

    xid: int
    id: int
    seq: int

    def __str__(self) -> str:
        return f"{self.xid}-{self.id}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> "Position":
        """The position that a stream has handed out as an `id`, or `0`, before all; `Invalid` for anything else."""
        if text == "0":
            return BEGINNING
        found = _WRITTEN.fullmatch(text)
        position = cls(*map(int, found.groups())) if found else None
        if position is None or max(position) > LAST:
            raise Invalid("since: not an id that this stream has handed out; leave it out to begin now, 0 tells all")
        return position


#: Before everything that is kept.
BEGINNING = Position(0, 0, 0)
