"""The status of a ticket, derived from the states of its tasks."""

import pytest

from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tickets.models import TicketStatus
from omoi_os.tickets.status import derive


@pytest.mark.parametrize(
    ("states", "status"),
    [
        ([], "backlog"),
        (["pending"], "backlog"),
        (["pending", "blocked"], "backlog"),
        (["pending", "cancelled"], "backlog"),
        (["assigned"], "building"),
        (["running", "verifying"], "building"),
        (["running", "failed"], "building"),
        (["pending", "completed"], "building"),
        (["pending", "failed"], "building"),
        (["verifying", "completed"], "testing"),
        (["verifying", "failed"], "testing"),
        (["blocked"], "blocked"),
        (["blocked", "failed"], "blocked"),
        (["blocked", "completed", "cancelled"], "blocked"),
        (["failed"], "failed"),
        (["failed", "completed"], "failed"),
        (["failed", "cancelled"], "failed"),
        (["completed"], "done"),
        (["completed", "cancelled"], "done"),
        (["cancelled", "cancelled"], "cancelled"),
    ],
)
def test_a_ticket_follows_its_tasks(states: list[str], status: str) -> None:
    assert derive([TaskState(state) for state in states]) == TicketStatus(status)
