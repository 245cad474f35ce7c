"""Skills: those that the repository brings are offered to the agent as a plugin, without its settings and hooks."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from omoi_os.worker.paths import Places

#: Skills appear as `repo:<name>`.
PLUGIN_NAME = "repo"
KINDS = ("skills", "agents")
MAX_FILES = 500
MAX_BYTES = 16 * 1024 * 1024


def collect(places: Places) -> list[str]:
    """Copy `.claude/skills` and `.claude/agents` into a plugin of its own; the plugin folders to load, if any.

    Loading the repository's settings would load them too, but with its hooks and its environment; a plugin that
    holds nothing else cannot bring those.
    """
    plugin = places.private / "plugin"
    shutil.rmtree(plugin, ignore_errors=True)
    room = [MAX_FILES, MAX_BYTES]
    copied = 0
    for kind in KINDS:
        source = places.workspace / ".claude" / kind
        if source.is_dir() and not source.is_symlink():
            copied += _copy(source, plugin / kind, room=room)
    if not copied:
        return []
    manifest = plugin / ".claude-plugin" / "plugin.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"name": PLUGIN_NAME, "version": "1.0.0", "description": "From the repository."}))
    return [str(plugin)]


def _copy(source: Path, target: Path, *, room: list[int]) -> int:
    """Copy regular files, never through links, within the room that is left; returns how many."""
    copied = 0
    for folder, _, names in os.walk(source):
        for name in sorted(names):
            file = Path(folder) / name
            if file.is_symlink() or not file.is_file():
                continue
            room[0] -= 1
            room[1] -= file.stat().st_size
            if min(room) < 0:
                return copied
            destination = target / file.relative_to(source)
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, destination)
            copied += 1
    return copied
