"""A ticket's status, derived from its tasks."""

from collections.abc import Collection

from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tickets.models import TicketStatus


def derive(states: Collection[TaskState]) -> TicketStatus:
    """What the tasks' states add up to."""
    if not states:
        return TicketStatus.BACKLOG
    if all(state == TaskState.CANCELLED for state in states):
        return TicketStatus.CANCELLED
    live = [state for state in states if state != TaskState.CANCELLED]
    if all(state == TaskState.COMPLETED for state in live):
        return TicketStatus.DONE
    if TaskState.FAILED in live:
        return TicketStatus.BLOCKED
    if TaskState.ASSIGNED in live or TaskState.RUNNING in live:
        return TicketStatus.BUILDING
    if TaskState.VERIFYING in live:
        return TicketStatus.TESTING
    if all(state == TaskState.BLOCKED for state in live):
        return TicketStatus.BLOCKED
    return TicketStatus.BUILDING if TaskState.COMPLETED in live else TicketStatus.BACKLOG
