"""The states of a task."""

import pytest

from omoi_os.errors import Conflict
from omoi_os.tasks.lifecycle import TERMINAL, TRANSITIONS, TaskState, check


def test_every_state_has_its_row_in_the_table() -> None:
    assert set(TRANSITIONS) == set(TaskState)


def test_only_a_retry_leaves_a_terminal_state() -> None:
    leaving = {state: TRANSITIONS[state] for state in TERMINAL}

    assert leaving == {
        TaskState.COMPLETED: frozenset(),
        TaskState.FAILED: frozenset({TaskState.PENDING}),
        TaskState.CANCELLED: frozenset(),
    }


@pytest.mark.parametrize("state", [state for state in TaskState if state != TaskState.VERIFYING])
def test_nothing_but_verification_completes_a_task(state: TaskState) -> None:
    with pytest.raises(Conflict, match="cannot become completed"):
        check(state, TaskState.COMPLETED)
