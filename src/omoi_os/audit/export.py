"""Exports the audit trail as CSV or as one JSON object per line, page by page."""

import csv
import io
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from enum import StrEnum

from omoi_os.audit import repository
from omoi_os.audit.models import AuditEntry
from omoi_os.audit.schemas import AuditEntryOut
from omoi_os.db.base import Sessions

#: How many entries are read at a time.
PAGE = 1000
_COLUMNS = tuple(AuditEntryOut.model_fields)
#: Spreadsheets run a cell that starts with one of these as a formula, and sandboxes choose some of these texts.
_FORMULA = ("=", "+", "-", "@")


class ExportFormat(StrEnum):
    """The format of an export."""

    CSV = "csv"  #: a header line, then one line per entry
    JSONL = "jsonl"  #: one JSON object per line


MEDIA_TYPES: Mapping[ExportFormat, str] = {
    ExportFormat.CSV: "text/csv",
    ExportFormat.JSONL: "application/x-ndjson",
}


async def lines(
    sessions: Sessions, wanted: ExportFormat, *, kind: str | None, actor_id: str | None
) -> AsyncIterator[str]:
    """Yield the entries, newest first. No session is held while the client reads."""
    if wanted == ExportFormat.CSV:
        yield _row(_COLUMNS)
    before = None
    while True:
        async with sessions() as session:
            rows = await repository.list_entries(session, kind=kind, actor_id=actor_id, limit=PAGE, before=before)
        if rows:
            yield "".join(_line(row, _FORMATS[wanted]) for row in rows)
        if len(rows) < PAGE:
            return
        before = rows[-1].id


def _line(row: AuditEntry, shape: Callable[[AuditEntryOut], str]) -> str:
    return shape(AuditEntryOut.model_validate(row))


def _json_line(entry: AuditEntryOut) -> str:
    return entry.model_dump_json() + "\n"


def _csv_line(entry: AuditEntryOut) -> str:
    shown = entry.model_dump(mode="json")
    return _row([_inert(str(shown[name])) for name in _COLUMNS])


def _inert(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _row(cells: Sequence[str]) -> str:
    written = io.StringIO()
    csv.writer(written).writerow(cells)
    return written.getvalue()


_FORMATS: Mapping[ExportFormat, Callable[[AuditEntryOut], str]] = {
    ExportFormat.CSV: _csv_line,
    ExportFormat.JSONL: _json_line,
}
