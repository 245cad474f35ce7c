"""Derives the status of a ticket from the states of its tasks."""

from collections.abc import Collection

from omoi_os.tasks.lifecycle import OPEN, TaskState
from omoi_os.tickets.models import TicketStatus


def derive(states: Collection[TaskState]) -> TicketStatus:
    """Return the status of a ticket whose tasks have these states."""
    if not states:
        return TicketStatus.BACKLOG
    ended = {state for state in states if state not in OPEN}
    open_states = {state for state in states if state in OPEN}
    if not open_states:
        return _of_ended(ended)
    if TaskState.ASSIGNED in open_states or TaskState.RUNNING in open_states:
        return TicketStatus.BUILDING
    if TaskState.VERIFYING in open_states:
        return TicketStatus.TESTING
    if open_states == {TaskState.BLOCKED}:
        return TicketStatus.BLOCKED
    return TicketStatus.BUILDING if ended - {TaskState.CANCELLED} else TicketStatus.BACKLOG


def _of_ended(ended: Collection[TaskState]) -> TicketStatus:
    if TaskState.FAILED in ended:
        return TicketStatus.FAILED
    return TicketStatus.DONE if TaskState.COMPLETED in ended else TicketStatus.CANCELLED
