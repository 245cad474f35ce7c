"""Unified diffs of whole files that `git apply` accepts, fast on large files with small edits."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

CONTEXT_LINES = 3

#: Above this many differing lines, the smallest diff takes too long: one hunk replaces them all.
MAX_MATCHED_LINES = 4000


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff and its size in lines."""

    text: str
    lines_added: int
    lines_removed: int


def diff_texts(path: str, old: str | None, new: str | None) -> Diff:
    """Return the change of one file. None means that the file does not exist."""
    before, after = _lines(old or ""), _lines(new or "")
    body = [line for hunk in _hunks(before, after) for line in hunk]
    return _finish(path, body, created=old is None, deleted=new is None)


def diff_patch(path: str, patch: Sequence[dict[str, Any]]) -> Diff:
    """Return the change of one file from given hunks, for a file whose text is not available."""
    body: list[str] = []
    for hunk in patch:
        lines = [str(line) for line in hunk.get("lines", ())]
        old, new = (f"{hunk.get(f'{side}Start', 0)},{hunk.get(f'{side}Lines', 0)}" for side in ("old", "new"))
        body += [f"@@ -{old} +{new} @@\n", *(f"{line}\n" for line in lines)]
    return _finish(path, body, created=False, deleted=False)


def _finish(path: str, body: list[str], *, created: bool, deleted: bool) -> Diff:
    if not body:
        return Diff("", 0, 0)
    old = "/dev/null" if created else quoted(f"a/{path}")
    new = "/dev/null" if deleted else quoted(f"b/{path}")
    changes = [line[0] for line in body if not line.startswith("@@")]
    text = f"--- {old}\n+++ {new}\n" + "".join(body)
    return Diff(text, lines_added=changes.count("+"), lines_removed=changes.count("-"))


def quoted(name: str) -> str:
    """Quote a name with control characters, quotes or backslashes as git does."""
    if any(character in '"\\' or ord(character) < 32 for character in name):
        return json.dumps(name, ensure_ascii=False)
    # A tab ends a name that contains a space.
    return f"{name}\t" if " " in name else name


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; only LF ends a line, as in git."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _hunks(before: list[str], after: list[str]) -> Iterator[list[str]]:
    for group in _groups(before, after):
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
        yield [
            f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@\n",
            *(line for opcode in group for line in _opcode_lines(opcode, before, after)),
        ]


def _opcode_lines(opcode: tuple[str, int, int, int, int], before: list[str], after: list[str]) -> Iterator[str]:
    tag, old_start, old_end, new_start, new_end = opcode
    if tag == "equal":
        yield from (_marked(" ", line) for line in before[old_start:old_end])
        return
    yield from (_marked("-", line) for line in before[old_start:old_end])
    yield from (_marked("+", line) for line in after[new_start:new_end])


def _marked(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


def _range(start: int, end: int) -> str:
    """Format a range. Lines count from 1; an empty range names the line before it."""
    length = end - start
    return f"{start + 1 if length else start},{length}"


def _groups(before: list[str], after: list[str]) -> Iterator[list[tuple[str, int, int, int, int]]]:
    """Yield grouped opcodes, computed only between the first and the last difference."""
    head = 0
    shorter = min(len(before), len(after))
    while head < shorter and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < shorter - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    if head == len(before) == len(after):
        return iter(())
    start, tail = max(0, head - CONTEXT_LINES), max(0, tail - CONTEXT_LINES)
    old, new = before[start : len(before) - tail], after[start : len(after) - tail]
    if max(len(old), len(new)) > MAX_MATCHED_LINES:
        opcodes = [("replace", 0, len(old), 0, len(new))]
        groups: Iterator[list[tuple[str, int, int, int, int]]] = iter([opcodes])
    else:
        groups = iter(difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT_LINES))
    return ([(tag, a + start, b + start, c + start, d + start) for tag, a, b, c, d in group] for group in groups)
