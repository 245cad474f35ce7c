"""Parse git's diff of two trees into the data of events."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from omoi_os.worker.reporter.truncation import PREVIEW_BYTES, cut_text
from omoi_os.worker.repository.diffs import quoted

_CHANGES = {"A": "created", "D": "deleted", "R": "renamed"}
_ABSENT, _PLAIN = "000000", "100644"
_HEADER = b"diff --git "


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of git's raw list."""

    old_mode: str
    new_mode: str
    status: str
    old_path: str
    path: str

    @property
    def sections(self) -> int:
        """The number of its sections in the patch: a file that became a link is removed and created."""
        both = _ABSENT not in (self.old_mode, self.new_mode)
        return 2 if both and self.old_mode[:3] != self.new_mode[:3] else 1

    @property
    def is_plain(self) -> bool:
        """Whether the text alone describes the change: no link, no mode, no rename."""
        modes = {self.old_mode, self.new_mode} - {_ABSENT}
        return self.old_path == self.path and (modes == {_PLAIN} or self.old_mode == self.new_mode)


def read_edits(listed: bytes, *, most: int, whole: bool) -> tuple[list[dict[str, Any]], int]:
    """Parse the output of `git diff-tree -z --raw --numstat -p`. Return at most `most` edits, and how many more exist.

    With `whole` false the output was cut at its end, and edits whose diff is missing are returned without it.
    """
    fields = _Fields(listed, whole=whole)
    entries = list(fields.entries())
    counts = list(fields.counts())[: len(entries)]
    counts += [(0, 0)] * (len(entries) - len(counts))
    sections = fields.sections()
    edits = []
    for entry, count in list(zip(entries, counts, strict=True))[:most]:
        found = [section for _ in range(entry.sections) if (section := next(sections, None)) is not None]
        edits.append(_edit(entry, count, b"".join(found) if len(found) == entry.sections else None))
    return edits, max(0, len(entries) - most)


class _Fields:
    """Reads the three parts of the output in order."""

    def __init__(self, listed: bytes, *, whole: bool) -> None:
        self._text = listed
        self._whole = whole
        self._at = 0

    def _next(self) -> bytes:
        end = self._text.find(b"\0", self._at)
        end = len(self._text) if end < 0 else end
        field, self._at = self._text[self._at : end], end + 1
        return field

    def entries(self) -> Iterator[Entry]:
        while self._text[self._at : self._at + 1] == b":":
            about = self._next()[1:].decode("ascii", "replace").split(" ")
            if len(about) != 5 or not about[4]:
                return
            old_mode, new_mode, _, _, status = about
            old_path = path = os.fsdecode(self._next())
            if status[0] in "RC":
                path = os.fsdecode(self._next())
            yield Entry(old_mode, new_mode, status[0], old_path, path)

    def counts(self) -> Iterator[tuple[int, int] | None]:
        """Yield lines added and removed; None for a binary file."""
        while self._at < len(self._text) and self._text[self._at] != 0:
            added, _, rest = self._next().partition(b"\t")
            removed, _, path = rest.partition(b"\t")
            if not path:
                # The two names of a renamed file follow. They may be missing where the output was cut.
                self._next()
                self._next()
            yield (int(added), int(removed)) if added.isdigit() and removed.isdigit() else None

    def sections(self) -> Iterator[bytes]:
        """Yield the patch of each file, except one that was cut."""
        start = self._text.find(_HEADER, self._at)
        while start >= 0:
            end = self._text.find(b"\n" + _HEADER, start)
            if end < 0 and not self._whole:
                return
            yield self._text[start : end + 1] if end >= 0 else self._text[start:]
            start = end + 1 if end >= 0 else -1


def _edit(entry: Entry, count: tuple[int, int] | None, patch: bytes | None) -> dict[str, Any]:
    if patch is not None and count is not None and entry.is_plain and (start := patch.find(b"\n--- ")) >= 0:
        patch = patch[start + 1 :]
    text = None if patch is None else patch.decode("utf-8", "replace")
    change = _CHANGES.get(entry.status, "modified")
    edit = file_edit(entry.path, change, diff=text, binary=count is None)
    if change == "renamed":
        edit["old_path"] = entry.old_path
    edit["lines_added"], edit["lines_removed"] = count or (0, 0)
    return edit


def file_edit(path: str, change: str, *, diff: str | None, binary: bool) -> dict[str, Any]:
    """Return the data of `agent.file_edited`, with line counts of 0. No diff means that it was too large."""
    data = {
        "file_path": path,
        "change_type": change,
        "lines_added": 0,
        "lines_removed": 0,
        "binary": binary,
        "diff_preview": cut_text(diff or "", PREVIEW_BYTES),
        "full_diff": diff,
        "diff_size": len((diff or "").encode("utf-8", "replace")),
    }
    return data if diff is not None else {**data, "full_diff_truncated": True}


def left_out_diff(path: str, change: str) -> str:
    """Return the diff that git prints for a file whose content it does not show."""
    old, new = quoted(f"a/{path}").strip(), quoted(f"b/{path}").strip()
    mode = {"created": f"new file mode {_PLAIN}\n", "deleted": f"deleted file mode {_PLAIN}\n"}.get(change, "")
    before = "/dev/null" if change == "created" else old
    after = "/dev/null" if change == "deleted" else new
    return f"diff --git {old} {new}\n{mode}Binary files {before} and {after} differ\n"
