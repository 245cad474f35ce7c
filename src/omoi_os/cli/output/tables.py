"""Tables for a terminal: what strangers wrote is made safe and takes no more room than it is given."""

import json
import shutil
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from omoi_os.printable import one_line
from omoi_os.tasks.outcomes import LABELS, Outcome

#: The width of what is no terminal.
WIDE = 160
_MOST = 1000


def width() -> int:
    """The terminal's, or that of COLUMNS."""
    return max(40, shutil.get_terminal_size((WIDE, 24)).columns)


def as_line(text: str) -> str:
    """Any text as one safe line, its white space drawn together."""
    return one_line(" ".join(text[:_MOST].split(None)))


def cut(text: str, room: int) -> str:
    """A safe line that takes up no more than so many columns; what is cut off ends with …"""
    if len(text) * 2 <= room:
        return text
    taken, fits = 0, 0
    for place, character in enumerate(text):
        taken += _columns(character)
        if taken > room:
            return text[:fits] + "…"
        if taken < room:
            fits = place + 1
    return text


def table(rows: Sequence[Sequence[str]], *, room: int, flexible: int) -> Iterator[str]:
    """The rows with their columns side by side; the flexible column gives way so that lines fit."""
    safe = [[as_line(cell) for cell in row] for row in rows]
    widths = [max(map(_length, column)) for column in zip(*safe, strict=True)]
    others = sum(widths) - widths[flexible] + 2 * (len(widths) - 1)
    widths[flexible] = max(10, min(widths[flexible], room - others))
    for row in safe:
        cells = [cut(cell, most) for cell, most in zip(row, widths, strict=True)]
        padded = (cell + " " * (most - _length(cell)) for cell, most in zip(cells, widths, strict=True))
        yield "  ".join(padded).rstrip()


def as_json(value: object) -> str:
    """One line of JSON that no terminal acts on: plain ASCII, all else escaped."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def usd(sandbox_or_task: Mapping[str, Any]) -> str:
    """What something has cost, labelled where the scripted model was charged it."""
    cost, simulated = sandbox_or_task["cost_usd"], sandbox_or_task["simulated_cost_usd"]
    if not simulated:
        return f"${cost:.4f}"
    return f"${cost:.4f} simulated" if simulated >= cost else f"${cost:.4f} (${simulated:.4f} simulated)"


def outcome_label(sandbox_or_task: Mapping[str, Any]) -> str:
    """How it ended, in the words that every command uses."""
    return LABELS[Outcome(sandbox_or_task["outcome"])]


def span(seconds: float) -> str:
    """A length of time in its two largest units."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def moment(text: str) -> datetime:
    """A time as the API writes it."""
    return datetime.fromisoformat(text)


def _length(text: str) -> int:
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
