"""The commands that start the worker's processes, given where our program is inside a sandbox."""

from __future__ import annotations

import os
import sys

#: The folder that holds the package `omoi_os`, and the interpreter: of this process.
SOURCE = os.path.realpath(f"{__file__}/../../..")
PYTHON = sys.executable

#: The modules whose imports cover everything that a worker loads.
_ENTRY_POINTS = (
    "agents.claude.driver",
    "main",
    "reporter.gateway_port",
    "salvage.main",
    "startup.handover",
    "startup.preload",
)

#: How long `salvage_argv` takes at the most, for whoever has to name a time-out.
SALVAGE_SECONDS = 45.0


def worker_argv(python: str = PYTHON, source: str = SOURCE, *, waiting: bool = False) -> list[str]:
    """The first process of a work sandbox: the reporter, on the standard library alone.

    With `waiting` it starts without a task, loads the agent's SDK in its child and waits for `handover_argv`.
    """
    # The first event, or the wait for a task, comes before the imports of all the rest.
    cold = "from omoi_os.worker.startup.cold import begin; begun = begin()"
    warm = (
        "from omoi_os.worker.startup.warm import Waiting; waiting = Waiting(); "
        "import omoi_os.worker.startup.preload; begun = waiting.wait()"
    )
    steps = f"{warm if waiting else cold}; from omoi_os.worker.main import main; main(begun)"
    return [python, "-I", "-S", "-c", _program(source, steps)]


def gateway_port_argv(python: str = PYTHON, source: str = SOURCE) -> list[str]:
    """The first process of a verify sandbox: only the way to the gateway, until SIGTERM."""
    return _reporter_argv("reporter.gateway_port", python, source)


def handover_argv(python: str = PYTHON, source: str = SOURCE) -> list[str]:
    """Gives a waiting worker its task: stdin is a JSON object of all variables of a normal start.

    Exit codes: 0 taken, 2 the variables make no start (the reason is on stderr; it still waits), 4 taken before: a
    warm sandbox is used once, 5 nobody waits. With nothing on stdin it exits with 0 as soon as the worker is ready.
    """
    return _reporter_argv("startup.handover", python, source)


def salvage_argv(python: str = PYTHON, source: str = SOURCE) -> list[str]:
    """Saves what a sandbox still holds: unfinished work, transcript, spool. It may be run again at any time.

    The worker's variables are a JSON object on stdin, or this command's own, or those that were handed over here. It
    prints one line of JSON and exits with 0 when everything is safe, else with 1 and the reasons on stderr. A worker
    that still runs is stopped first; where that ends the sandbox, and this command with it, run it again.
    """
    return _reporter_argv("salvage.main", python, source)


def compile_argv() -> list[str]:
    """Run outside of any sandbox: imports all that a worker imports, and so leaves its bytecode behind.

    Sandboxes see the program read-only, and without bytecode each of them would compile it anew.
    """
    modules = ", ".join(f"omoi_os.worker.{name}" for name in _ENTRY_POINTS)
    return [PYTHON, "-I", "-c", _program(SOURCE, f"import {modules}")]


def agent_argv(channel: int) -> list[str]:
    """The agent child, with the packages of this interpreter. `channel` is the inherited socket's number."""
    return [
        PYTHON,
        "-I",
        "-c",
        _program(SOURCE, "from omoi_os.worker.agents.claude.driver import main; main()"),
        str(channel),
    ]


def _reporter_argv(module: str, python: str, source: str) -> list[str]:
    return [python, "-I", "-S", "-c", _program(source, f"from omoi_os.worker.{module} import main; main()")]


def _program(source: str, steps: str) -> str:
    return f"import sys; sys.path.insert(0, {source!r}); {steps}"
