"""Long batches are stored in pieces and answered as one."""

from typing import Any

import httpx

from omoi_os.sandboxes.ingest.routes import LONG, PIECE
from tests.api.conftest import Worker


async def post(worker: Worker, numbers: range, **other: dict[str, Any]) -> dict[str, Any]:
    """Post events with these numbers; `other` has fields that replace those of one event, named `n7` for number 7."""
    events = [
        {"event_type": "agent.message", "seq": n, "event_data": {"n": n}} | other.get(f"n{n}", {}) for n in numbers
    ]
    answer = await worker.client.post(worker.path("/events/batch"), json={"events": events})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_a_long_batch_is_answered_as_a_whole(ada: httpx.AsyncClient, worker: Worker) -> None:
    everything = range(1, LONG + PIECE + 11)
    bad = {f"n{PIECE + 7}": {"event_type": "sandbox.lost"}}

    first = await post(worker, everything, **bad)
    again = await post(worker, everything, **bad)

    assert (first["accepted"], first["duplicates"], first["last_seq"]) == (len(everything) - 1, 0, everything[-1])
    assert [rejected["seq"] for rejected in first["rejected"]] == [PIECE + 7]
    assert (again["accepted"], again["duplicates"], again["last_seq"]) == (0, len(everything), everything[-1])
    counts = (await ada.get(worker.path())).json()["event_counts"]
    assert (counts["agent.message"], counts["rejected"]) == (len(everything) - 1, 1)


async def test_nothing_beyond_a_gap_in_a_long_batch_is_stored(worker: Worker) -> None:
    events = [{"event_type": "agent.message", "seq": n} for n in range(1, LONG + 2 * PIECE) if n != PIECE + 5]

    answer = (await worker.client.post(worker.path("/events/batch"), json={"events": events})).json()

    assert (answer["accepted"], answer["duplicates"], answer["last_seq"]) == (PIECE + 4, 0, PIECE + 4)
