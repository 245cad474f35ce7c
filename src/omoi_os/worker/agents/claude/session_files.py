"""The CLI's session files: one transcript per session, in a folder named after the workspace."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from omoi_os.worker.agents.base import Session
from omoi_os.worker.agents.claude.environment import config_folder
from omoi_os.worker.paths import WorkerPaths


def find_transcript(paths: WorkerPaths, session_id: str) -> Path | None:
    """Return the file of a session, whichever workspace it belongs to."""
    if not _is_session_id(session_id):
        return None
    return next((path for path in sorted(_projects(paths).glob(f"*/{session_id}.jsonl")) if path.is_file()), None)


def newest_session(paths: WorkerPaths) -> str | None:
    """Return the id of the session that was written last."""
    found = [path for path in _projects(paths).glob("*/*.jsonl") if path.is_file() and _is_session_id(path.stem)]
    return max(found, key=lambda path: path.stat().st_mtime_ns).stem if found else None


def restore_transcript(paths: WorkerPaths, session_id: str, content: bytes) -> Session | None:
    """Write the valid lines of a saved transcript. Return None if none of them belongs to a conversation."""
    if not _is_session_id(session_id):
        return None
    own = find_transcript(paths, session_id)
    if own is not None and own.stat().st_size >= len(content):
        # The worker was restarted in the same sandbox: the file here is at least as new as the saved one.
        content = own.read_bytes()
    lines = [line for line in content.splitlines() if _parse(line)]
    if not any(b'"assistant"' in line or b'"user"' in line for line in lines):
        return None
    path = own or _projects(paths) / _key(paths.workspace) / f"{session_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_suffix(".new")
    partial.write_bytes(b"".join(line + b"\n" for line in lines))
    partial.replace(path)
    return Session(session_id, _cost(lines))


def _projects(paths: WorkerPaths) -> Path:
    return config_folder(paths) / "projects"


def _is_session_id(text: str) -> bool:
    """Return whether a text is safe as part of a file name."""
    return len(text) <= 100 and text.isascii() and text.replace("-", "").isalnum()


def _key(workspace: Path) -> str:
    """Return the CLI's name for the folder of a workspace's sessions."""
    return re.sub("[^a-zA-Z0-9]", "-", str(workspace))


def _cost(lines: list[bytes]) -> float:
    """Return the total cost that the CLI noted last."""
    for line in reversed(lines):
        if b'"cost-state"' in line and (state := _parse(line)).get("type") == "cost-state":
            cost: Any = state.get("totalCostUSD")
            is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
            return float(cost) if is_number and math.isfinite(cost) else 0.0
    return 0.0


def _parse(line: bytes) -> dict[str, Any]:
    """Return the JSON object on a line, or an empty one if the line is damaged or cut off."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
