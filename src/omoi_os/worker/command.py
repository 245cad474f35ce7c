"""The commands that start the worker's processes, for a given location of our program inside a sandbox."""

from __future__ import annotations

import os
import sys

from omoi_os.worker.agents import registry

#: The folder that holds the package `omoi_os`, and the interpreter, of this process.
SOURCE = os.path.realpath(f"{__file__}/../../..")
PYTHON = sys.executable

#: The modules whose imports cover everything that a worker loads, besides the agent drivers.
_ENTRY_POINTS = (
    "omoi_os.worker.main",
    "omoi_os.worker.reporter.gateway_port",
    "omoi_os.worker.salvage.main",
    "omoi_os.worker.startup.handover",
    "omoi_os.worker.startup.preload",
)

#: The longest time `salvage_argv` takes, for its caller's timeout.
SALVAGE_SECONDS = 45.0


def worker_argv(python: str = PYTHON, source: str = SOURCE, *, waiting: bool = False) -> list[str]:
    """Return the first process of a work sandbox: the reporter, on the standard library alone.

    With `waiting` it starts without a task, loads the agent driver and waits for `handover_argv`.
    """
    # The first event, or the wait for a task, comes before all other imports.
    cold = "from omoi_os.worker.startup.cold_start import start; early = start()"
    warm = (
        "from omoi_os.worker.startup.warm_start import WarmStart; warm = WarmStart(); "
        "import omoi_os.worker.startup.preload; early = warm.wait()"
    )
    steps = f"{warm if waiting else cold}; from omoi_os.worker.main import main; main(early)"
    return [python, "-I", "-S", "-c", _program(source, steps)]


def gateway_port_argv(python: str = PYTHON, source: str = SOURCE) -> list[str]:
    """Return the first process of a verify sandbox: it forwards the gateway port until SIGTERM."""
    return _reporter_argv("reporter.gateway_port", python, source)


def handover_argv(python: str = PYTHON, source: str = SOURCE) -> list[str]:
    """Return the command that gives a waiting worker its task.

    Its stdin is a JSON object of all variables of a normal start. Exit codes: 0 accepted, 2 the variables are not
    valid (the reason is on stderr, and the worker still waits), 4 the sandbox already had a task, 5 no worker waits.
    With an empty stdin it exits with 0 as soon as the worker is ready.
    """
    return _reporter_argv("startup.handover", python, source)


def salvage_argv(python: str = PYTHON, source: str = SOURCE) -> list[str]:
    """Return the command that saves unfinished work, transcript and spool. It can be repeated at any time.

    The worker's variables are a JSON object on stdin, or else this command's environment, or else those that were
    handed over in this sandbox. It prints one line of JSON and exits with 0 if everything is saved, or with 1 and the
    reasons on stderr. A worker that still runs is stopped first; where that ends the sandbox, and this command with
    it, run it again.
    """
    return _reporter_argv("salvage.main", python, source)


def compile_argv() -> list[str]:
    """Return a command that imports everything a worker imports, outside any sandbox, and so writes its bytecode.

    Sandboxes see the program read-only. Without bytecode each of them would compile it again.
    """
    drivers = [name(driver) for driver in registry.DRIVERS for name in (registry.agent_module, registry.driver_module)]
    return [PYTHON, "-I", "-c", _program(SOURCE, f"import {', '.join([*_ENTRY_POINTS, *drivers])}")]


def driver_argv(channel: int, name: str = registry.DEFAULT) -> list[str]:
    """Return the agent driver, with this interpreter's packages. `channel` is the number of the inherited socket."""
    steps = f"from {registry.driver_module(name)} import main; main()"
    return [PYTHON, "-I", "-c", _program(SOURCE, steps), str(channel)]


def _reporter_argv(module: str, python: str, source: str) -> list[str]:
    return [python, "-I", "-S", "-c", _program(source, f"from omoi_os.worker.{module} import main; main()")]


def _program(source: str, steps: str) -> str:
    return f"import sys; sys.path.insert(0, {source!r}); {steps}"
