"""The states of a task, and who moves it on."""

from enum import StrEnum

from omoi_os.errors import Conflict


class TaskState(StrEnum):
    """Each member says what it means and who moves it on."""

    BLOCKED = "blocked"  #: a dependency is open; its completion moves it on
    PENDING = "pending"  #: waiting for room; the dispatcher assigns it
    ASSIGNED = "assigned"  #: leased, its sandbox is being made; the first event moves it on
    RUNNING = "running"  #: the worker is at it; its end moves it on
    VERIFYING = "verifying"  #: the agent says done; the verifier decides
    COMPLETED = "completed"  #: accepted: its checks passed, or there were none; nothing moves it
    FAILED = "failed"  #: out of attempts, or not worth another; a person may retry it
    CANCELLED = "cancelled"  #: a person stopped it; nothing moves it


class EndCause(StrEnum):
    """What caused an attempt to end without a result; `orchestrator.recovery.end_causes` decides."""

    WORK = "work"  #: the agent, its checks or its use of resources; it uses up one of the task's attempts
    PLATFORM = "platform"  #: the platform or the host; `max_attempts` rises with `attempt`, up to a limit


#: States in which a task takes up room.
ACTIVE = frozenset({TaskState.ASSIGNED, TaskState.RUNNING, TaskState.VERIFYING})
#: States that only a person's retry leaves, if anything.
TERMINAL = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED})
OPEN = frozenset(TaskState) - TERMINAL

_BACK = {TaskState.PENDING, TaskState.FAILED, TaskState.CANCELLED}

TRANSITIONS: dict[TaskState, frozenset[TaskState]] = {
    TaskState.BLOCKED: frozenset({TaskState.PENDING, TaskState.CANCELLED}),
    TaskState.PENDING: frozenset({TaskState.ASSIGNED, TaskState.BLOCKED, TaskState.CANCELLED}),
    TaskState.ASSIGNED: frozenset({TaskState.RUNNING, *_BACK}),
    TaskState.RUNNING: frozenset({TaskState.VERIFYING, *_BACK}),
    TaskState.VERIFYING: frozenset({TaskState.COMPLETED, *_BACK}),
    TaskState.COMPLETED: frozenset(),
    TaskState.FAILED: frozenset({TaskState.PENDING}),
    TaskState.CANCELLED: frozenset(),
}


def check(current: TaskState, target: TaskState) -> None:
    """Raise `Conflict` when the table does not have this step."""
    if target not in TRANSITIONS[current]:
        raise Conflict(f"a task that is {current} cannot become {target}")
