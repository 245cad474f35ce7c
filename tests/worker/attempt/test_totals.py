"""The totals of several turns."""

from omoi_os.protocol.agent import TurnEnded, Usage
from omoi_os.worker.attempt.totals import Totals


def test_tokens_add_up_and_the_cost_is_the_sessions() -> None:
    totals = Totals()
    totals.add(TurnEnded(cost_usd=0.25, usage=Usage(input_tokens=10, output_tokens=1)))
    totals.add(TurnEnded(cost_usd=0.75, usage=Usage(input_tokens=5, cache_read_input_tokens=100)))
    totals.add(TurnEnded())

    data = totals.data(turn=9)
    assert (data["cost_usd"], data["tokens"]) == (0.75, 116)
    assert data["usage"]["input_tokens"] == 15


def test_the_turns_are_those_that_the_events_carry() -> None:
    assert Totals().data(turn=4)["turns"] == 4
