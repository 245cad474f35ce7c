"""The rate limit for the events of one sandbox."""

import asyncio

import pytest

from omoi_os.errors import TooMany
from omoi_os.sandboxes.ingest.quota import AT_ONCE, MAX_HELD, PACE, Quota


def test_a_sandbox_that_posts_too_many_events_waits_and_no_other_does() -> None:
    now = 100.0
    quota = Quota(rate=10, burst=20, clock=lambda: now)
    quota.charge("a", 25)

    with pytest.raises(TooMany, match="at most 10 events a second"):
        quota.check("a")
    quota.check("b")
    now += 0.6
    quota.check("a")


def test_an_idle_sandbox_may_post_no_more_than_a_burst() -> None:
    now = 100.0
    quota = Quota(rate=10, burst=20, clock=lambda: now)
    quota.charge("a", 1)
    now += 1000
    quota.charge("a", 21)

    with pytest.raises(TooMany):
        quota.check("a")


async def test_only_so_many_refusals_are_delayed() -> None:
    quota = Quota()
    held = [asyncio.create_task(quota.hold("a", seconds=60)) for _ in range(MAX_HELD)]
    await asyncio.sleep(0)

    assert not await quota.hold("a", seconds=60)
    assert await quota.hold("b", seconds=0)
    assert not any(each.done() for each in held)
    for each in held:
        each.cancel()
    await asyncio.wait(held)
    assert await quota.hold("a", seconds=0)


async def test_a_burst_is_stored_at_a_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", note)
    now = 100.0
    quota = Quota(clock=lambda: now)
    for _ in range(3):
        await quota.pace("a", 2 * AT_ONCE)
    await quota.pace("b", AT_ONCE)
    now += 10
    await quota.pace("a", AT_ONCE)

    assert waits == [pytest.approx(n * AT_ONCE / PACE) for n in (1, 3)]
