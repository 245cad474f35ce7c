"""Positions in the outbox."""

import re
from typing import NamedTuple

from omoi_os.errors import Invalid

_WRITTEN = re.compile(r"(0|[1-9]\d{0,18})-(0|[1-9]\d{0,18})-(0|[1-9]\d{0,18})", re.ASCII)
#: The `seq` of a position behind every event of a run.
LAST = 2**63 - 1


class Position(NamedTuple):
    """Behind this row of the outbox and, if it is a run of events, behind the event with this number."""

    xid: int
    id: int
    seq: int

    def __str__(self) -> str:
        return f"{self.xid}-{self.id}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Read the `id` of an item, or `0` for the start of the outbox; raise `Invalid` for anything else."""
        if text == "0":
            return BEGINNING
        found = _WRITTEN.fullmatch(text)
        position = cls(*map(int, found.groups())) if found else None
        if position is None or max(position) > LAST:
            raise Invalid(
                "since: must be an id that this stream sent, or 0 for every change; leave it out to start now"
            )
        return position


#: Before everything that is kept.
BEGINNING = Position(0, 0, 0)
