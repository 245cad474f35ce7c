"""What a supervisor writes into its sandbox's folder: who holds it, and how it ended."""

# No pathlib or json here: they would slow the supervisor's start.

import os

from omoi_os.providers.local.supervisor import processes
from omoi_os.system import durable

STATE, END, OUTPUT = "state.json", "exit.json", "output.log"

#: How a supervisor is talked to. A change that one of an earlier release would not understand gets the next number.
PROTOCOL = 1


def tell_state(init: int) -> None:
    """Name the supervisor, which is this process, and the sandbox's init, if there is one."""
    names = [f'"protocol": {PROTOCOL}', f'"supervisor": "{processes.identify(os.getpid())}"']
    if init:
        names.append(f'"init": "{processes.identify(init)}"')
    write(STATE, f"{{{', '.join(names)}}}".encode())


def tell_end(reason: str, figures: dict[str, int | float | None]) -> None:
    """Say how the sandbox ended, and what it used."""
    parts = [f'"{name}": {"null" if value is None else value}' for name, value in figures.items()]
    parts.append(f'"reason": "{reason}"')
    write(END, f"{{{', '.join(parts)}}}".encode())


def write(name: str, content: bytes) -> None:
    """Write a file of the sandbox's folder so that it is there as a whole or not at all, after a power cut too."""
    durable.write(name, content)
