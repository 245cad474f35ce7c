"""Secrets that are added or removed while the API runs."""

import httpx
from fastapi import FastAPI

from omoi_os.masking import MASK
from tests.api.conftest import Worker

ADDED = "added-at-run-time"


async def test_an_added_secret_is_masked_at_once_wherever_the_api_stores_text(
    app: FastAPI, ada: httpx.AsyncClient, worker: Worker
) -> None:
    async def store(number: int) -> tuple[str, str]:
        event = {"event_type": "agent.message", "event_data": {"text": ADDED}, "source": "agent", "seq": number}
        await worker.client.post(worker.path("/events/batch"), json={"events": [event]})
        message = {"content": ADDED, "message_type": "user_message"}
        await ada.post(worker.path("/messages"), json=message)
        events = (await ada.get(worker.path("/events?event_type=agent.message&limit=1"))).json()["items"]
        messages = (await ada.get(worker.path("/messages/history"))).json()["items"]
        return events[0]["event_data"]["text"], max(messages, key=lambda row: str(row["message_id"]))["content"]

    before = await store(1)
    app.state.masker.add([ADDED])
    known = await store(2)
    app.state.masker.remove([ADDED])
    after = await store(3)

    assert (before, known, after) == ((ADDED, ADDED), (MASK, MASK), (ADDED, ADDED))
