"""The memory of event requests: bounded for all and for each sandbox, and always enough for one request."""

import pytest

from omoi_os.errors import NotReady, TooMany
from omoi_os.sandboxes.ingest.memory_budget import BYTE_BYTES, REQUEST_BYTES, MemoryBudget

KIB = 1024


def test_released_memory_can_be_reserved_again() -> None:
    budget = MemoryBudget(limit=4 * REQUEST_BYTES, each=2 * REQUEST_BYTES)
    for _ in range(10):
        with budget.reserve("a"), budget.reserve("a"), budget.reserve("b"), budget.reserve("b"):
            with pytest.raises(NotReady), budget.reserve("c"):
                pass


def test_one_sandbox_cannot_use_the_whole_budget() -> None:
    budget = MemoryBudget(limit=4 * REQUEST_BYTES, each=2 * REQUEST_BYTES)
    with budget.reserve("a"), budget.reserve("a"):
        with pytest.raises(TooMany), budget.reserve("a"):
            pass
        with budget.reserve("b"):
            pass


def test_a_body_counts_as_it_is_received_and_one_request_always_fits() -> None:
    budget = MemoryBudget(limit=100 * KIB, each=100 * KIB)
    with budget.reserve("a") as large:
        for _ in range(10):
            large.add_body(100 * KIB)
        with pytest.raises(NotReady), budget.reserve("b"):
            pass
    with budget.reserve("b") as first, budget.reserve("c") as second:
        first.add_body(60 * KIB // BYTE_BYTES)
        with pytest.raises(NotReady):
            second.add_body(60 * KIB // BYTE_BYTES)
