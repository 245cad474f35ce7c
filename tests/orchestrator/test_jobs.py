"""Jobs: one per name, and a failed one pauses before it is retried."""

import asyncio

import pytest

from omoi_os.orchestrator.jobs import Jobs


async def test_a_job_of_one_name_runs_once_at_a_time() -> None:
    jobs, release, starts = Jobs(), asyncio.Event(), 0

    async def work() -> None:
        nonlocal starts
        starts += 1
        await release.wait()

    for _ in range(3):
        jobs.start("one", work)
    await asyncio.sleep(0)
    release.set()
    await asyncio.wait_for(jobs.ended.wait(), 5)

    assert (starts, jobs.running("one")) == (1, False)


async def test_a_failed_job_pauses_and_then_wakes_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    jobs, starts = Jobs(), 0

    async def work() -> None:
        nonlocal starts
        starts += 1
        raise OSError("no")

    jobs.start("bad", work)
    await jobs.finish("bad", timeout=5)
    jobs.start("bad", work)
    assert (starts, jobs.ended.is_set()) == (1, False)

    await asyncio.wait_for(jobs.ended.wait(), 5)
    jobs.start("bad", work)
    await jobs.finish("bad", timeout=5)
    assert starts == 2
    assert "retrying in" in caplog.text


async def test_cancelled_jobs_are_gone() -> None:
    jobs = Jobs()
    jobs.start("endless", asyncio.Event().wait)  # type: ignore[arg-type]

    await jobs.cancel()

    assert not jobs.running("endless")
