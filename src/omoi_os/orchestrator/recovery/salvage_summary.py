"""Say in a sentence what the salvage program saved."""

import json
import re
from collections.abc import Mapping
from typing import Any

_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_SHOWN_DIGITS = 12


def summarise(printed: bytes) -> str:
    """Return a sentence about the document that the salvage program printed.

    The document comes from inside the sandbox: only a commit's name and numbers are taken from it, and anything else
    than expected is left out.
    """
    try:
        found = json.loads(printed)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return "its work was saved, without a report"
    saved = _saved(found)
    sentence = f"saved {', '.join(saved)}" if saved else "there was nothing to save"
    if left_out := found.get("left_out"):
        count = len(left_out) if isinstance(left_out, list) else 1
        sentence += f"; {count} {'file was' if count == 1 else 'files were'} left out"
    return f"{sentence}; its worker was still running" if found.get("stopped_worker") is True else sentence


def _saved(found: Mapping[str, Any]) -> list[str]:
    saved = []
    commit, events = found.get("wip_commit"), found.get("events")
    if isinstance(commit, str) and _COMMIT.fullmatch(commit):
        saved.append(f"its uncommitted work as commit {commit[:_SHOWN_DIGITS]}")
    if found.get("transcript_saved") is True:
        saved.append("its transcript")
    if isinstance(events, int) and 0 < events < 1 << 63 and found.get("events_left") == 0:
        saved.append(f"its events up to number {events}")
    return saved
