"""Messages to running agents: people send them, workers fetch and acknowledge them."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from fastapi import Query, Request, Response

from omoi_os.accounts.auth import BearerToken
from omoi_os.accounts.deps import CurrentUser
from omoi_os.accounts.idempotency import OnlyOnce
from omoi_os.audit.deps import AppTrail
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.http import paging
from omoi_os.http.choices import AnyCase
from omoi_os.http.deps import AppBus, AppMasker, DbSession, Now
from omoi_os.http.problems import problems
from omoi_os.http.routers import make_router
from omoi_os.ids import token_hash
from omoi_os.sandboxes.deps import CallingSandbox, SandboxId, VisibleSandbox, calling_sandbox
from omoi_os.sandboxes.messages import mailbox
from omoi_os.sandboxes.messages import repository as message_repository
from omoi_os.sandboxes.messages import service as messages
from omoi_os.sandboxes.messages.schemas import (
    MAX_CONTENT_BYTES,
    AckIn,
    AckOut,
    MessageIn,
    MessageOut,
    MessagePage,
    MessageQueued,
    WaitingMessages,
)
from omoi_os.sandboxes.messages.service import Sender
from omoi_os.sandboxes.messages.waiters import Waiters

#: Limit for the text in one response: even if every character is escaped, the worker accepts the response.
MAX_HANDED_OUT_BYTES = 20 * MAX_CONTENT_BYTES
MAX_WAIT_SECONDS = 60

router = make_router("/sandboxes/{sandbox_id}/messages", refusals=(401, 403, 404, 409, 413, 415, 422, 503))


@router.post("", status_code=201, summary="Send a message to an agent", tags=["sandboxes"], responses=problems(429))
async def send_message(
    sandbox_id: SandboxId,
    user: CurrentUser,
    body: MessageIn,
    once: OnlyOnce,
    session: DbSession,
    *,
    bus: AppBus,
    masker: AppMasker,
    now: Now,
) -> MessageQueued:
    """Queue a message for the agent in this sandbox. The history shows when it was delivered and seen.

    Answers 409 if the sandbox has ended or only verifies a result, and names the call to use instead. Answers 429 if
    too many messages are queued.
    """
    messages.check_sender(user, body.message_type)
    message = body.outgoing(masker.mask_text(body.content))
    message_id = await messages.queue(session, bus, sandbox_id, message, sender=Sender.person(user), now=now)
    return once.answer(MessageQueued(message_id=message_id, sandbox_id=sandbox_id))


@router.get("", summary="Wait for messages", tags=["workers"], response_model=WaitingMessages)
async def poll_messages(
    sandbox_id: SandboxId,
    token: BearerToken,
    request: Request,
    trail: AppTrail,
    wait: Annotated[
        float, Query(ge=0, le=MAX_WAIT_SECONDS, description="How many seconds to wait for a message if none is queued.")
    ] = 0,
    after: Annotated[UUID | None, Query(description="Return only messages after the one with this id.")] = None,
) -> Response:
    """Return the messages that are not acknowledged, oldest first. Long poll for the worker, with the sandbox's token.

    Answers at once if there is a message, with an empty list after `wait` seconds, and 409 `stale_fence` when the
    sandbox ends. Messages stay queued until they are acknowledged.
    """
    sessions: Sessions = request.app.state.sessions
    waiters: Waiters = request.app.state.waiters
    clock: Clock = request.app.state.clock

    async def look() -> Sequence[dict[str, str]]:
        """Read with a new session each time, so that none is held while waiting and the token is checked again."""
        async with sessions() as session:
            rows = await mailbox.queued(session, sandbox_id, token_hash(token), after=after, limit=messages.MAX_QUEUED)
            if not rows:
                # The query is also empty for a token that is not valid here: find out which.
                await calling_sandbox(sandbox_id, token, session, clock.now(), request, trail)
            return _fitting(rows)

    found = await look()
    if not found and wait:
        found = await waiters.until_found(sandbox_id, look, seconds=wait)
    return Response(msgspec.json.encode({"items": found}), media_type="application/json")


def _fitting(rows: Sequence[dict[str, str]]) -> Sequence[dict[str, str]]:
    """Return the first of these, as many as fit into a response; at least one."""
    sizes = accumulate(len(row["content"].encode()) for row in rows)
    return rows[: max(1, sum(size <= MAX_HANDED_OUT_BYTES for size in sizes))]


@router.post("/ack", summary="Acknowledge messages", tags=["workers"])
async def acknowledge_messages(sandbox: CallingSandbox, body: AckIn, session: DbSession, now: Now) -> AckOut:
    """Acknowledge messages, so that they are not handed out again. Unknown ids are returned and change nothing."""
    asked = {text: messages.as_id(text) for text in body.message_ids}
    own = await messages.acknowledge(session, sandbox, {found for found in asked.values() if found}, now=now)
    return AckOut(
        acknowledged=[text for text, found in asked.items() if found in own],
        unknown=[text for text, found in asked.items() if found not in own],
    )


@router.get("/history", summary="List the messages to an agent", tags=["sandboxes"])
async def list_messages(
    sandbox: VisibleSandbox,
    session: DbSession,
    order: Annotated[
        AnyCase[Literal["asc", "desc"]], Query(description="`desc` lists the newest message first, `asc` the oldest.")
    ] = "desc",
    limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
) -> MessagePage:
    """Return every message with its receipts: when it was queued, delivered to the agent, and seen by the model."""
    kind = f"messages-{order}"
    rows = await message_repository.history(
        session, sandbox.id, order=order, limit=limit + 1, beyond=paging.before_id(kind, cursor)
    )
    found, next_cursor = paging.cut(rows, limit, lambda row: paging.encode(kind, row.id))
    items = [MessageOut.of(row) for row in found]
    return MessagePage(items=items, next_cursor=next_cursor, sandbox_id=sandbox.id)
