"""The gateway serves a sandbox that serves a spec: its model calls count against one budget, its pushes go to wip."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from aiohttp import ClientSession, UnixConnector

from omoi_os.config import Settings
from omoi_os.db.base import Sessions
from omoi_os.forges.smart_http.push_commands import Command, Push
from omoi_os.gateway.context import PARTS
from omoi_os.gateway.git.pushes import why_not
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.sandboxes.models import Sandbox
from omoi_os.sandboxes.reservations import Estimate, Refused, Reserved, reserve
from tests.builders import a_project, a_spec_sandbox
from tests.conftest import NOON
from tests.gateway.answers import BODY, COST, STREAM, TOKENS, streaming
from tests.gateway.conftest import Start
from tests.gateway.places import Host

ESTIMATE = Estimate(input_usd=0.1, usual_input_usd=0.1, output_token_usd=0.0001, max_tokens=1000, min_tokens=100)


async def _ask(settings: Settings, sandbox: Sandbox, token: str) -> tuple[int, str]:
    socket = settings.gateway_sockets_dir / sandbox.id / "gateway.sock"
    headers = {"Authorization": f"Bearer {token}"}
    async with ClientSession("http://gateway", connector=UnixConnector(path=str(socket)), headers=headers) as client:
        async with client.post("/v1/messages", json=BODY) as answer:
            return answer.status, await answer.text()


async def test_its_model_calls_are_metered_and_end_with_the_specs_budget(
    start: Start, settings: Settings, sessions: Sessions, model: Host
) -> None:
    model.answer = streaming(*STREAM)
    async with sessions.begin() as session:
        project, spec_id = await a_project(session), uuid4()
        fields: dict[str, Any] = {"spec_id": spec_id, "site": settings.site, "budget_usd": 1.0, "model": None}
        # An earlier sandbox of the same spec has spent most of it.
        await a_spec_sandbox(session, project, now=NOON, status=SandboxState.STOPPED, **fields | {"cost_usd": 0.4})
        sandbox, token = await a_spec_sandbox(session, project, now=NOON, **fields)
    runner = await start()

    assert (await _ask(settings, sandbox, token))[0] == 200
    await runner.app[PARTS].background.finish(timeout=60)

    async with sessions.begin() as session:
        row = await session.get_one(Sandbox, sandbox.id)
        assert (round(row.cost_usd, 9), row.tokens) == (COST, TOKENS)
        row.cost_usd += 0.6
    status, text = await _ask(settings, sandbox, token)
    assert (status, "The budget of $1.00 for this spec is used up ($1.02 spent)" in text) == (400, True)


async def test_calls_that_reserve_at_once_do_not_reserve_the_same_money(sessions: Sessions) -> None:
    async with sessions.begin() as session:
        sandbox, _ = await a_spec_sandbox(session, now=NOON, budget_usd=1.05)
        other, _ = await a_spec_sandbox(session, now=NOON, budget_usd=1.05)

    async def reserve_one(sandbox_id: str) -> object:
        async with sessions.begin() as session:
            return await reserve(session, sandbox_id, ESTIMATE, gateway_id=uuid4())

    outcomes = await asyncio.gather(*(reserve_one(sandbox.id) for _ in range(16)))

    assert sum(isinstance(outcome, Reserved) for outcome in outcomes) == 5
    assert not any(isinstance(outcome, Refused) for outcome in outcomes)
    # The budget of another spec is its own.
    assert isinstance(await reserve_one(other.id), Reserved)


@pytest.mark.parametrize("ref", ["refs/heads/main", "refs/heads/feature/other", "refs/heads/wip/None"])
async def test_it_may_push_to_the_branch_for_its_specs_unfinished_work_alone(
    start: Start, settings: Settings, sessions: Sessions, ref: str
) -> None:
    async with sessions.begin() as session:
        sandbox, _ = await a_spec_sandbox(session, now=NOON, site=settings.site)
    runner = await start()

    caller = await runner.app[PARTS].callers._find(sandbox.token_hash)

    assert caller is not None
    assert (caller.task_id, caller.spec_id, caller.branch) == (None, sandbox.spec_id, None)
    own = f"refs/heads/wip/{sandbox.spec_id}"
    assert why_not(_push(own), caller) is None
    assert why_not(_push(ref), caller) == f"this sandbox may push only to {own}"


def _push(ref: str) -> Push:
    return Push(commands=[Command(ref=ref, new="1" * 40)], raw=b"", wants=frozenset())
