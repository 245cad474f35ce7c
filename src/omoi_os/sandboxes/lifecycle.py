"""The states of a sandbox, and who moves it on."""

from enum import StrEnum

from omoi_os.errors import Conflict


class SandboxState(StrEnum):
    """Each member says what it means and who moves it on."""

    CREATING = "creating"  #: the row is written, the provider is at it; its first sign of life moves it on
    RUNNING = "running"  #: up; its end or a stop moves it on
    STOPPING = "stopping"  #: asked to go; the orchestrator destroys it
    STOPPED = "stopped"  #: ended as it should
    FAILED = "failed"  #: could not be made, or its worker gave up
    LOST = "lost"  #: ended without a word


class Purpose(StrEnum):
    """What a sandbox is for."""

    WORK = "work"  #: an agent's attempt at a task
    VERIFY = "verify"  #: a fresh place to check what was pushed


class StopCause(StrEnum):
    """Who asks for a sandbox to stop, which decides what becomes of its task."""

    PERSON = "person"  #: a person; the task fails until a person retries it
    TASK_OVER = "task_over"  #: its task is over or has a newer attempt
    PLATFORM_STOPS = "platform_stops"  #: the whole platform stops; the task waits for the next start
    REAPED = "reaped"  #: it is idle, stuck or too old; the task is tried again
    SILENT = "silent"  #: no sign of life, and its provider does not report it alive; the task is tried again


class SalvageState(StrEnum):
    """What becomes of the disk of a sandbox whose work was not saved at its end."""

    PENDING = "pending"  #: saving is retried, and the task's next attempt waits for it; either outcome moves it on
    KEPT = "kept"  #: the next attempt no longer waits; saving is still retried until a limit is reached
    SAVED = "saved"  #: everything is safe; the disk is removed
    DROPPED = "dropped"  #: a limit was reached or a person gave it up; the disk is removed


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
    """Raise `Conflict` when the table does not have this step."""
    if target not in TRANSITIONS[current]:
        raise Conflict(f"a sandbox that is {current} cannot become {target}")
