"""What a supervisor writes into its sandbox's folder: its processes, and how it ended."""

# No pathlib or json here: they would slow the supervisor's start.

import os

from omoi_os.providers.local.supervisor import processes
from omoi_os.system import durable

STATE, END, OUTPUT = "state.json", "exit.json", "output.log"

#: The version of the control socket's protocol. A change that a supervisor of an earlier release would not understand
#: gets the next number.
PROTOCOL = 1


def write_state(init: int) -> None:
    """Record the supervisor, which is this process, and the sandbox's init, if there is one."""
    names = [f'"protocol": {PROTOCOL}', f'"supervisor": "{processes.identify(os.getpid())}"']
    if init:
        names.append(f'"init": "{processes.identify(init)}"')
    write(STATE, f"{{{', '.join(names)}}}".encode())


def write_end(reason: str, figures: dict[str, int | float | None]) -> None:
    """Record how the sandbox ended and what it used."""
    parts = [f'"{name}": {"null" if value is None else value}' for name, value in figures.items()]
    parts.append(f'"reason": "{reason}"')
    write(END, f"{{{', '.join(parts)}}}".encode())


def write(name: str, content: bytes) -> None:
    """Write a file of the sandbox's folder completely or not at all, also across a power cut."""
    durable.write(name, content)
