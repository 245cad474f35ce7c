"""The metered model client, used without a sandbox and without the gateway's routes."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest
from aiohttp import TCPConnector
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.config import ModelPrice
from omoi_os.db.base import Sessions
from omoi_os.gateway.model.metered.client import ModelClient
from omoi_os.gateway.model.metered.credentials import CallPurpose
from omoi_os.gateway.model.metered.payers import Payer
from omoi_os.gateway.model.metered.prices import PriceTable
from omoi_os.gateway.model.metered.reservations import Reservations
from omoi_os.gateway.model.metered.upstream import Upstream, make_session
from omoi_os.sandboxes.reservations import Busy, Estimate, Refused, Reserved
from tests.gateway.answers import saying
from tests.gateway.places import Host

REQUEST = {"model": "claude-sonnet-4-5", "max_tokens": 1000, "messages": [{"role": "user", "content": "hello"}]}
REPLY = {"type": "message", "model": "claude-sonnet-4-5", "usage": {"input_tokens": 1000, "output_tokens": 500}}


@dataclass
class Account:
    """A payer without a sandbox: a budget and the usage in memory."""

    name: str = "account"
    title: str = "Judge a trajectory"
    description: str = ""
    user_id: UUID = field(default_factory=uuid4)
    model: str | None = None
    budget_usd: float = 1.0
    estimates: list[Estimate] = field(default_factory=list)
    recorded: list[tuple[int, float, bool]] = field(default_factory=list)

    async def reserve(
        self, session: AsyncSession, estimate: Estimate, *, gateway_id: UUID
    ) -> Reserved | Refused | Busy:
        self.estimates.append(estimate)
        if estimate.input_usd > self.budget_usd:
            return Refused("The budget is used up.")
        return Reserved(uuid4(), estimate.max_tokens)

    async def add_usage(self, session: AsyncSession, *, tokens: int, cost_usd: float, simulated: bool) -> None:
        self.recorded.append((tokens, round(cost_usd, 9), simulated))


@dataclass
class Keys:
    """A resolver that knows a key for each payer, and changes it when the test does."""

    upstreams: dict[str, Upstream]
    asked: list[tuple[str, CallPurpose]] = field(default_factory=list)

    async def resolve(self, payer: Payer, purpose: CallPurpose) -> Upstream:
        self.asked.append((payer.name, purpose))
        return self.upstreams[payer.name]


@pytest.fixture
async def keys(model: Host) -> AsyncIterator[Keys]:
    async with make_session(TCPConnector()) as session:
        yield Keys({name: Upstream(session, model.url, f"key-of-{name}") for name in ("account", "other")})


@pytest.fixture
def client(keys: Keys, sessions: Sessions) -> ModelClient:
    return ModelClient(sessions, keys, PriceTable.load({}), Reservations(sessions))


async def ask(client: ModelClient, payer: Account) -> bytes | Refused:
    """Make one call as a part of the platform would."""
    body = json.dumps(REQUEST).encode()
    call = await client.call(payer, CallPurpose.AGENT)
    try:
        outcome = await call.reserve(call.estimate(REQUEST, body, model="claude-sonnet-4-5"))
        if isinstance(outcome, Refused):
            return outcome
        return await call.read(await call.open("/v1/messages", body, headers={"Content-Type": "application/json"}))
    finally:
        await call.end()


async def test_a_call_is_priced_reserved_and_recorded_for_a_payer_without_a_sandbox(
    client: ModelClient, model: Host
) -> None:
    model.answer = saying(200, REPLY)
    account = Account()

    reply = await ask(client, account)

    assert isinstance(reply, bytes)
    assert json.loads(reply) == REPLY
    assert account.recorded == [(1500, 0.0105, False)]
    assert account.estimates[0].output_token_usd == pytest.approx(15 / 1_000_000)


async def test_a_call_beyond_the_budget_is_not_sent(client: ModelClient, model: Host) -> None:
    account = Account(budget_usd=0)

    outcome = await ask(client, account)

    assert isinstance(outcome, Refused)
    assert (model.asked, account.recorded) == ([], [])


async def test_each_call_asks_for_the_credential_of_its_payer(client: ModelClient, keys: Keys, model: Host) -> None:
    model.answer = saying(200, REPLY)

    await ask(client, Account())
    await ask(client, Account(name="other"))
    keys.upstreams["account"] = keys.upstreams["other"]
    await ask(client, Account())

    assert keys.asked == [(name, CallPurpose.AGENT) for name in ("account", "other", "account")]
    assert [asked.headers["x-api-key"] for asked in model.asked] == ["key-of-account", "key-of-other", "key-of-other"]


async def test_a_failed_call_is_not_charged(client: ModelClient, model: Host) -> None:
    model.answer = saying(529, {"type": "error"})
    account = Account()

    await ask(client, account)

    assert sum(cost for _, cost, _ in account.recorded) == 0


async def test_the_settings_prices_decide_what_is_charged(keys: Keys, sessions: Sessions, model: Host) -> None:
    model.answer = saying(200, REPLY)
    prices = PriceTable.load({"sonnet": ModelPrice(input_usd=1000, output_usd=0)})
    account = Account(budget_usd=100)

    await ask(ModelClient(sessions, keys, prices, Reservations(sessions)), account)

    assert account.recorded == [(1500, 1.0, False)]


def test_an_upstream_does_not_show_its_key(keys: Keys) -> None:
    assert "key-of-account" not in repr(keys.upstreams["account"])
