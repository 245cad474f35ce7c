"""The commands that start the worker's processes; the same paths exist inside and outside a sandbox."""

from __future__ import annotations

import sys
from pathlib import Path

#: The folder that holds the package `omoi_os`.
SOURCE = Path(__file__).resolve().parents[2]


def worker_argv() -> list[str]:
    """The first process of a work sandbox: the reporter, on the standard library alone."""
    return _reporter_argv("main")


def door_argv() -> list[str]:
    """The first process of a verify sandbox: only the way to the gateway, until SIGTERM."""
    return _reporter_argv("door")


def agent_argv(channel: int) -> list[str]:
    """The agent child, with the packages of this interpreter. `channel` is the inherited socket's number."""
    return [sys.executable, "-I", "-c", _start("agent"), str(channel)]


def _reporter_argv(module: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", _start(module)]


def _start(module: str) -> str:
    return f"import sys; sys.path.insert(0, {str(SOURCE)!r}); from omoi_os.worker.{module} import main; main()"
