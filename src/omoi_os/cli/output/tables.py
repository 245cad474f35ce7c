"""Tables for a terminal. Untrusted text is escaped and cut to the width of its column."""

import json
import shutil
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from omoi_os.printable import one_line
from omoi_os.tasks.outcomes import LABELS, Outcome

#: Width when the output is not a terminal.
WIDE = 160
_MOST = 1000


def width() -> int:
    """Return the width of the terminal, or the value of COLUMNS."""
    return max(40, shutil.get_terminal_size((WIDE, 24)).columns)


def as_line(text: str) -> str:
    """Return the text as one safe line with collapsed white space."""
    return one_line(" ".join(text[:_MOST].split(None)))


def cut(text: str, columns: int) -> str:
    """Cut a safe line to a number of columns. A line that was cut ends with …"""
    if len(text) * 2 <= columns:
        return text
    taken, fits = 0, 0
    for index, character in enumerate(text):
        taken += _columns(character)
        if taken > columns:
            return text[:fits] + "…"
        if taken < columns:
            fits = index + 1
    return text


def table(rows: Sequence[Sequence[str]], *, width: int, flexible: int) -> Iterator[str]:
    """Yield the rows as aligned lines. The flexible column shrinks so that lines fit into `width` columns."""
    safe = [[as_line(cell) for cell in row] for row in rows]
    widths = [max(map(_length, column)) for column in zip(*safe, strict=True)]
    others = sum(widths) - widths[flexible] + 2 * (len(widths) - 1)
    widths[flexible] = max(10, min(widths[flexible], width - others))
    for row in safe:
        cells = [cut(cell, most) for cell, most in zip(row, widths, strict=True)]
        padded = (cell + " " * (most - _length(cell)) for cell, most in zip(cells, widths, strict=True))
        yield "  ".join(padded).rstrip()


def as_json(value: object) -> str:
    """Return one line of JSON that is safe for a terminal: ASCII, everything else escaped."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def usd(sandbox_or_task: Mapping[str, Any]) -> str:
    """Return the cost of a sandbox or task. Costs of the scripted model are labelled simulated."""
    cost, simulated = sandbox_or_task["cost_usd"], sandbox_or_task["simulated_cost_usd"]
    if not simulated:
        return f"${cost:.4f}"
    return f"${cost:.4f} simulated" if simulated >= cost else f"${cost:.4f} (${simulated:.4f} simulated)"


def outcome_label(sandbox_or_task: Mapping[str, Any]) -> str:
    """Return the label of the outcome."""
    return LABELS[Outcome(sandbox_or_task["outcome"])]


def subject_label(sandbox: Mapping[str, Any]) -> str:
    """Return the title of the task that a sandbox works on, or the id of the spec that it serves."""
    return f"spec {sandbox['spec_id']}" if sandbox["task_title"] is None else str(sandbox["task_title"])


def span(seconds: float) -> str:
    """Return a duration in its two largest units."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def moment(text: str) -> datetime:
    """Parse a time of the API."""
    return datetime.fromisoformat(text)


def _length(text: str) -> int:
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
