"""Identifiers: time-ordered UUIDs for rows, readable names for sandboxes, opaque tokens."""

import hashlib
import os
import secrets
import time
import uuid
from typing import NewType

UserId = NewType("UserId", uuid.UUID)
ProjectId = NewType("ProjectId", uuid.UUID)
TicketId = NewType("TicketId", uuid.UUID)
TaskId = NewType("TaskId", uuid.UUID)
SandboxId = NewType("SandboxId", str)


def uuid7() -> uuid.UUID:
    """Return a UUID of version 7: milliseconds first, so that rows sort by creation, then 74 random bits."""
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)


def uuid7_text() -> str:
    """Return a UUIDv7 as text, without the cost of a `UUID` object, which matters for thousands of ids."""
    when = f"{time.time_ns() // 1_000_000:012x}"
    random = os.urandom(10).hex()
    return f"{when[:8]}-{when[8:]}-7{random[:3]}-{'89ab'[int(random[3], 16) & 3]}{random[4:7]}-{random[7:19]}"


def sandbox_id_for_task(task_id: uuid.UUID) -> SandboxId:
    """Return `omoios-<task8>-<hex6>` with the last eight digits of the task's id, because the first are time."""
    return SandboxId(f"omoios-{task_id.hex[-8:]}-{secrets.token_hex(3)}")


def new_token(prefix: str) -> str:
    """Return an opaque token with 256 random bits, e.g. `sbx_…` or `omoi_…`."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def token_hash(token: str) -> str:
    """Return the stored form of a token. A plain hash is enough for 256 random bits."""
    return hashlib.sha256(token.encode()).hexdigest()
