"""A load generator, run as a separate process: post bodies over open connections and print the measurements."""

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from itertools import count
from typing import Any

import uvloop


@dataclass
class Sender:
    """One connection of one sandbox, numbering its events."""

    host: str
    port: int
    path: str
    token: str
    per_post: int
    numbers: "count[int]"
    #: Whether it sends more than is accepted, so that refusals count as answers.
    floods: bool = False

    async def open(self) -> None:
        """Connect."""
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port)

    async def post(self) -> None:
        """Send one post with the next numbers and wait for its answer."""
        events = [
            b'{"event_type":"agent.tool_completed","seq":%d,"event_data":{"tool":"Bash","tool_use_id":"toolu_%d",'
            b'"is_error":false,"duration_ms":12,"output":"%b"}}' % (number, number, b"All checks passed. " * 12)
            for number in (next(self.numbers) for _ in range(self.per_post))
        ]
        body = events[0] if self.per_post == 1 else b'{"events":[' + b",".join(events) + b"]}"
        self.writer.write(
            b"POST %b HTTP/1.1\r\nHost: omoi\r\nAuthorization: Bearer %b\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (self.path.encode(), self.token.encode(), len(body), body)
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        answer = await self.reader.readexactly(length)
        if not head.startswith(b"HTTP/1.1 200") and not (self.floods and head.startswith(b"HTTP/1.1 429")):
            raise RuntimeError(f"{head!r} {answer!r}")


async def closed_loop(senders: list[Sender], *, seconds: float) -> dict[str, Any]:
    """Let each sender post as soon as it has its answer."""
    over = time.perf_counter() + seconds
    took: list[float] = []

    async def run(sender: Sender) -> None:
        while (begun := time.perf_counter()) < over:
            await sender.post()
            took.append(time.perf_counter() - begun)

    begun = time.perf_counter()
    await asyncio.gather(*(run(sender) for sender in senders))
    return {"seconds": time.perf_counter() - begun, "took": took}


async def open_loop(senders: list[Sender], *, seconds: float, rate: float) -> dict[str, Any]:
    """Post at fixed times, whatever happens to earlier posts; waiting for a free connection counts too."""
    free: asyncio.Queue[Sender] = asyncio.Queue()
    for sender in senders:
        free.put_nowait(sender)
    took: list[float] = []

    async def run(due: float) -> None:
        sender = await free.get()
        await sender.post()
        free.put_nowait(sender)
        took.append(time.perf_counter() - due)

    begun = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number in range(int(rate * seconds)):
            due = begun + number / rate
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            tasks.create_task(run(due))
    return {"seconds": time.perf_counter() - begun, "took": took}


async def main(plan: dict[str, Any]) -> None:
    """Carry out the plan on standard input."""
    senders = [
        Sender(
            *(plan["host"], plan["port"], each["path"], each["token"], plan["per_post"], count(each["first"])),
            floods=plan.get("floods", False),
        )
        for each in plan["senders"]
    ]
    # Connect all at once: the server closes connections that stay silent.
    await asyncio.gather(*(sender.open() for sender in senders))
    await asyncio.gather(*(sender.post() for sender in senders))
    if plan.get("rate"):
        measured = await open_loop(senders, seconds=plan["seconds"], rate=plan["rate"])
    else:
        measured = await closed_loop(senders, seconds=plan["seconds"])
    print(json.dumps(measured))


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(json.load(sys.stdin)))
