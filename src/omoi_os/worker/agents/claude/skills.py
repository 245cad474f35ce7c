"""Offer the repository's skills and sub-agents to the agent as a plugin, without its settings and hooks."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from omoi_os.worker.paths import WorkerPaths

#: Skills appear as `repo:<name>`.
PLUGIN_NAME = "repo"
KINDS = ("skills", "agents")
MAX_FILES = 500
MAX_BYTES = 16 * 1024 * 1024


def collect(paths: WorkerPaths) -> tuple[str, ...]:
    """Copy `.claude/skills` and `.claude/agents` into a plugin and return the plugin folders to load, if any.

    Loading the repository's settings would load them too, but with its hooks and its environment. A plugin that
    holds nothing else cannot bring those.
    """
    plugin = paths.private / "plugin"
    shutil.rmtree(plugin, ignore_errors=True)
    allowance = [MAX_FILES, MAX_BYTES]
    copied = 0
    for kind in KINDS:
        source = paths.workspace / ".claude" / kind
        if source.is_dir() and not source.is_symlink():
            copied += _copy(source, plugin / kind, allowance=allowance)
    if not copied:
        return ()
    manifest = plugin / ".claude-plugin" / "plugin.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"name": PLUGIN_NAME, "version": "1.0.0", "description": "From the repository."}))
    return (str(plugin),)


def _copy(source: Path, target: Path, *, allowance: list[int]) -> int:
    """Copy regular files without following links, until the allowance of files and bytes is used. Return the number."""
    copied = 0
    for folder, _, names in os.walk(source):
        for name in sorted(names):
            file = Path(folder) / name
            if file.is_symlink() or not file.is_file():
                continue
            allowance[0] -= 1
            allowance[1] -= file.stat().st_size
            if min(allowance) < 0:
                return copied
            destination = target / file.relative_to(source)
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, destination)
            copied += 1
    return copied
