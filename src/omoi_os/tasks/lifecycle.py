"""The states of a task and the transitions between them."""

from enum import StrEnum

from omoi_os.errors import Conflict


class TaskState(StrEnum):
    """State of a task."""

    BLOCKED = "blocked"  #: a dependency is open; its completion moves the task on
    PENDING = "pending"  #: queued; the dispatcher claims it
    ASSIGNED = "assigned"  #: leased, its sandbox is being made; the first event moves it on
    RUNNING = "running"  #: the worker reports events; its end moves the task on
    VERIFYING = "verifying"  #: the agent has finished; the verifier decides
    COMPLETED = "completed"  #: accepted: its checks passed, or it has none; final
    FAILED = "failed"  #: out of attempts, or not worth another one; a person can retry it
    CANCELLED = "cancelled"  #: a person cancelled it; final


class EndCause(StrEnum):
    """What caused an attempt to end without a result; `orchestrator.recovery.end_causes` decides."""

    WORK = "work"  #: the agent, its checks or its use of resources; it uses up one of the task's attempts
    PLATFORM = "platform"  #: the platform or the host; `max_attempts` rises with `attempt`, up to a limit


#: States in which a task occupies a slot.
ACTIVE = frozenset({TaskState.ASSIGNED, TaskState.RUNNING, TaskState.VERIFYING})
#: Final states; only a person's retry leaves `FAILED`.
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
    """Raise `Conflict` if the table does not contain this transition."""
    if target not in TRANSITIONS[current]:
        raise Conflict(f"a task that is {current} cannot become {target}")
