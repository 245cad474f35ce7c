"""Our prepared statements on a connection that the rest of the program uses, too."""

from sqlalchemy import text

from omoi_os.db import pipeline as pipelines
from omoi_os.db.base import Sessions
from omoi_os.db.pipeline import Statement, in_session

ONE = Statement("t_one", "SELECT 1")


async def test_our_statements_can_be_used_after_a_rollback(sessions: Sessions) -> None:
    async with sessions() as session:
        for _ in range(3):
            # So often that the driver prepares it, and at the rollback has the server forget everything.
            for _ in range(10):
                await session.execute(text("SELECT 2"))
            async with in_session(session) as pipeline:
                pipeline.send(ONE)
                assert await pipeline.results(last=True) == [[("1",)]]
            await session.rollback()
        _, raw = await pipelines.open_pipeline(await session.connection())
        assert raw.prepared == set()


async def test_what_is_prepared_stays_so_while_nothing_is_rolled_back(sessions: Sessions) -> None:
    async with sessions() as session:
        for _ in range(2):
            async with in_session(session, reading=True) as pipeline:
                pipeline.send(ONE)
                await pipeline.results(last=True)
            await session.rollback()
        _, raw = await pipelines.open_pipeline(await session.connection())
        assert raw.prepared == {"t_one"}
