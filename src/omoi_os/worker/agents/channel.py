"""The driver's end of the channel to the reporter."""

from __future__ import annotations

import asyncio
import socket
import sys

from omoi_os.protocol.agent import (
    MAX_LINE_BYTES,
    AgentEvent,
    BadMessage,
    DriverOrder,
    DriverReport,
    decode_order,
    encode,
)
from omoi_os.protocol.events import Event


class Channel:
    """Sends reports and receives orders, one JSON line each."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, connection: socket.socket) -> Channel:
        """Use a connected socket."""
        return cls(*await asyncio.open_connection(sock=connection, limit=MAX_LINE_BYTES))

    async def receive(self) -> DriverOrder | None:
        """Wait for the next order. Return None when the reporter is gone. An invalid line is skipped and logged."""
        while line := await self._reader.readline():
            try:
                return decode_order(line)
            except BadMessage as error:
                print(f"Ignored an invalid order: {error}", file=sys.stderr, flush=True)  # noqa: T201
        return None

    async def send(self, report: DriverReport) -> None:
        """Send a report."""
        self._writer.write(encode(report))
        await self._writer.drain()

    async def send_event(self, event: Event) -> None:
        """Report an event; the reporter numbers it."""
        await self.send(AgentEvent(event.event_type, event.event_data))

    def close(self) -> None:
        """Close the channel once everything is sent."""
        self._writer.close()
