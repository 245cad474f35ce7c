"""The inbox: every message once, in order, through outages."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from omoi_os.protocol.messages import Message
from omoi_os.protocol.spool import read_frames
from omoi_os.worker.reporter.api import Api
from omoi_os.worker.reporter.blobs import Blobs
from omoi_os.worker.reporter.inbox import Inbox
from omoi_os.worker.reporter.report import Report
from omoi_os.worker.reporter.spool import Spool
from tests.worker.platform import API, TOKEN, Platform


class Heard:
    """Receives the messages."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Message] = asyncio.Queue()

    async def take(self, message: Message) -> None:
        self.queue.put_nowait(message)

    async def next(self) -> str:
        return (await asyncio.wait_for(self.queue.get(), 20)).content


@asynccontextmanager
async def listening(platform: Platform, root: Path) -> AsyncIterator[Inbox]:
    with contextlib.closing(Spool(root / "spool")) as spool:
        inbox = Inbox(Api(f"{platform.url}{API}/events", TOKEN), Report(spool, blobs=Blobs(root / "blobs")))
        task = asyncio.create_task(inbox.listen())
        yield inbox
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_messages_are_handed_on_in_order_and_once_although_they_are_handed_out_again(
    platform: Platform, root: Path
) -> None:
    platform.repeats_messages = True
    heard = Heard()
    await platform.say("one")
    async with listening(platform, root) as inbox:
        assert await inbox.wait(seconds=20)
        await inbox.connect(heard.take)
        await platform.say("two")
        await platform.say("three")

        assert [await heard.next() for _ in range(3)] == ["one", "two", "three"]
        polls = platform.polls
        await platform.wait_for(lambda: platform.polls > polls + 2)
        assert heard.queue.empty()


async def test_a_message_is_acknowledged_only_after_the_receipt_of_its_delivery_is_spooled(
    platform: Platform, root: Path
) -> None:
    heard = Heard()
    async with listening(platform, root) as inbox:
        await inbox.connect(heard.take)
        first = await platform.say("one")
        await heard.next()
        assert inbox.waiting
        assert platform.acknowledged == []

        inbox.note_delivered(first)
        inbox.note_delivered(first)
        inbox.note_delivered("what was never said")
        await platform.say("two")

        await platform.wait_for(lambda: platform.acknowledged == [first])
        (receipt,) = read_frames((root / "spool").read_bytes())
        assert receipt.event_type == "agent.message_injected"
        assert (receipt.event_data["message_id"], receipt.event_data["sender"]) == (first, "user:me@x")


async def test_an_outage_delays_messages_and_loses_none(platform: Platform, root: Path) -> None:
    heard = Heard()
    async with listening(platform, root) as inbox:
        await inbox.connect(heard.take)
        await platform.wait_for(lambda: platform.polls == 1)
        await platform.stop()
        await inbox.check(seconds=0.1)
        await platform.say("after the outage")
        await platform.start()

        assert await heard.next() == "after the outage"


async def test_a_wait_in_vain_ends(platform: Platform, root: Path) -> None:
    async with listening(platform, root) as inbox:
        assert not await inbox.wait(seconds=0.01)
