"""The states of a sandbox, and what changes them."""

from enum import StrEnum

from omoi_os.errors import Conflict


class SandboxState(StrEnum):
    """State of a sandbox."""

    CREATING = "creating"  #: the row is stored, the provider creates it; its first sign of life moves it on
    RUNNING = "running"  #: its worker runs; its end or a request to stop moves it on
    STOPPING = "stopping"  #: asked to stop; the orchestrator salvages its work and destroys it
    STOPPED = "stopped"  #: ended as intended
    FAILED = "failed"  #: it could not be created, or its worker gave up
    LOST = "lost"  #: ended without a report: killed, silent, or its machine is gone


class Purpose(StrEnum):
    """Why a sandbox was created."""

    WORK = "work"  #: an agent's attempt at a task, or at a spec's phases
    VERIFY = "verify"  #: one check of a pushed commit


class StopCause(StrEnum):
    """Why a sandbox was asked to stop, which decides what happens to its task."""

    PERSON = "person"  #: a person asked; the task fails until a person retries it
    TASK_OVER = "task_over"  #: its task has ended or has a newer attempt
    PLATFORM_STOPS = "platform_stops"  #: the platform stops; the task returns to the queue
    REAPED = "reaped"  #: it is idle, stuck or too old; the task is retried
    SILENT = "silent"  #: no heartbeat, and its provider does not report it alive; the task is retried


class SalvageState(StrEnum):
    """What happens to the disk of a sandbox whose work was not saved at its end."""

    PENDING = "pending"  #: saving is retried, and the task's next attempt waits for it; either outcome moves it on
    KEPT = "kept"  #: the next attempt no longer waits; saving is still retried until a limit is reached
    SAVED = "saved"  #: everything is saved; the disk is removed
    DROPPED = "dropped"  #: given up at a limit or by a person; the disk is removed


#: States in which a disk is kept.
UNSAVED = frozenset({SalvageState.PENDING, SalvageState.KEPT})

ALIVE = frozenset({SandboxState.CREATING, SandboxState.RUNNING, SandboxState.STOPPING})
ENDED = frozenset(SandboxState) - ALIVE

TRANSITIONS: dict[SandboxState, frozenset[SandboxState]] = {
    SandboxState.CREATING: frozenset({SandboxState.RUNNING, SandboxState.STOPPING, *ENDED}),
    SandboxState.RUNNING: frozenset({SandboxState.STOPPING, *ENDED}),
    SandboxState.STOPPING: frozenset(ENDED),
    SandboxState.STOPPED: frozenset(),
    SandboxState.FAILED: frozenset(),
    SandboxState.LOST: frozenset(),
}


def check(current: SandboxState, target: SandboxState) -> None:
    """Raise `Conflict` if this transition is not in the table."""
    if target not in TRANSITIONS[current]:
        raise Conflict(f"a sandbox that is {current} cannot become {target}")
