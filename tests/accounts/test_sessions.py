"""Sign-in codes and sessions in the database."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from omoi_os.accounts import sessions as browsers
from omoi_os.accounts.models import BrowserSession, SignInCode
from omoi_os.accounts.service import create_key, end_session, ensure_admin
from omoi_os.accounts.sessions import LINK_LIFE, MEMORY, SESSION_LIFE, LinkRefused, Refusal
from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.errors import BadToken, SetupError
from tests.builders import a_user
from tests.conftest import NOON


async def test_a_code_is_kept_as_a_hash_and_works_once_within_a_day(sessions: Sessions) -> None:
    async with sessions.begin() as session:
        user = await a_user(session)
        code = await browsers.make_code(session, user, now=NOON)
        late = await browsers.make_code(session, user, now=NOON)
    async with sessions() as session:
        assert len(code) >= 22
        assert code not in [row.code_hash for row in (await session.execute(select(SignInCode))).scalars()]
    async with sessions.begin() as session:
        assert (await browsers.use_code(session, code, now=NOON)).id == user.id
        with pytest.raises(LinkRefused, match=Refusal.USED):
            await browsers.use_code(session, code, now=NOON)
        with pytest.raises(LinkRefused, match=Refusal.EXPIRED):
            await browsers.use_code(session, late, now=NOON + LINK_LIFE)
        with pytest.raises(LinkRefused, match=Refusal.UNKNOWN):
            await browsers.use_code(session, "another", now=NOON)


async def test_a_session_ends_by_itself_when_its_time_is_over_or_its_user_signs_out(sessions: Sessions) -> None:
    async with sessions.begin() as session:
        user = await a_user(session)
        token = await browsers.open_session(session, user, now=NOON)
        soon = NOON + timedelta(hours=1)
        key, _ = await create_key(session, user, name="k", scope=None, expires_at=soon, now=NOON)
        short = await browsers.open_session(session, user, now=NOON, key=key)

    async with sessions.begin() as session:
        found, opened = await browsers.identify(session, token, now=NOON + SESSION_LIFE - timedelta(seconds=1))
        assert found.id == user.id
        with pytest.raises(BadToken, match="omoi sign-in"):
            await browsers.identify(session, token, now=NOON + SESSION_LIFE)
        with pytest.raises(BadToken):
            await browsers.identify(session, short, now=NOON + timedelta(hours=1))
        await end_session(session, MemoryBus(), user.id, opened.id, now=NOON)
    async with sessions() as session:
        with pytest.raises(BadToken):
            await browsers.identify(session, token, now=NOON)


async def test_when_a_browser_was_last_here_is_known_to_the_hour(sessions: Sessions) -> None:
    async with sessions.begin() as session:
        token = await browsers.open_session(session, await a_user(session), now=NOON)

    seen = []
    for minutes in (59, 61, 90):
        async with sessions.begin() as session:
            await browsers.identify(session, token, now=NOON + timedelta(minutes=minutes))
        async with sessions() as session:
            seen.append((await session.execute(select(BrowserSession.last_seen))).scalar_one() - NOON)

    assert seen == [timedelta(0), timedelta(minutes=61), timedelta(minutes=61)]


async def test_what_is_long_over_is_forgotten(sessions: Sessions) -> None:
    later = NOON + SESSION_LIFE + MEMORY + timedelta(seconds=1)
    async with sessions.begin() as session:
        user = await a_user(session)
        for now in (NOON, later):
            await browsers.make_code(session, user, now=now)
            await browsers.open_session(session, user, now=now)

        for table in (SignInCode, BrowserSession):
            assert await session.scalar(select(func.count()).select_from(table)) == 1


async def test_a_link_is_for_the_first_administrator_and_carries_no_token(sessions: Sessions) -> None:
    async with sessions.begin() as session:
        with pytest.raises(SetupError, match="omoi serve"):
            await browsers.make_admin_link(session, base_url="http://127.0.0.1:18000", now=NOON)
        admin = await ensure_admin(session, "omoi_the_token", now=NOON)
        link = await browsers.make_admin_link(session, base_url="http://127.0.0.1:18000/", now=NOON)
        address, _, code = link.partition("?code=")

        assert address == "http://127.0.0.1:18000/sign-in"
        assert "omoi_" not in code
        assert (await browsers.use_code(session, code, now=NOON)).id == admin.id
