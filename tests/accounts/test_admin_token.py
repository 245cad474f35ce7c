"""The first administrator's key."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import func, select

from omoi_os.accounts.admin_token import ensure_admin_token, token_path
from omoi_os.accounts.models import ApiKey, User
from omoi_os.accounts.service import SETTING, ensure_admin, revoke_key
from omoi_os.bus.memory import MemoryBus
from omoi_os.config import Settings, load_settings
from omoi_os.db.base import Sessions
from omoi_os.errors import ConfigError, SetupError
from omoi_os.visibility import Role


def settings_in(folder: Path, **parameters: object) -> Settings:
    return load_settings(environ={}, config_dir=folder, data_dir=folder / "data", **parameters)


def test_a_token_is_made_once_and_kept_private(short_tmp: Path) -> None:
    settings = settings_in(short_tmp)
    token = ensure_admin_token(settings)

    assert token.startswith("omoi_")
    assert ensure_admin_token(settings) == token
    assert token_path(settings).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in settings.data_dir.iterdir()] == ["admin-token"]


def test_processes_that_start_at_once_get_the_same_token(short_tmp: Path) -> None:
    settings = settings_in(short_tmp)
    with ThreadPoolExecutor(16) as pool:
        tokens = set(pool.map(ensure_admin_token, [settings] * 16))

    assert len(tokens) == 1


def test_a_given_token_is_used_and_not_written(short_tmp: Path) -> None:
    settings = settings_in(short_tmp, admin_token="omoi_given_by_the_operator")

    assert ensure_admin_token(settings) == "omoi_given_by_the_operator"
    assert not token_path(settings).exists()


def test_a_token_that_looks_like_a_sandboxs_is_refused(short_tmp: Path) -> None:
    with pytest.raises(ConfigError, match="OMOI_ADMIN_TOKEN"):
        ensure_admin_token(settings_in(short_tmp, admin_token="sbx_given_by_the_operator"))


def test_an_unusable_file_is_named_with_its_remedy(short_tmp: Path) -> None:
    settings = settings_in(short_tmp)
    settings.data_dir.mkdir()
    token_path(settings).write_text("\n")

    with pytest.raises(SetupError, match="remove it"):
        ensure_admin_token(settings)


async def test_the_administrator_is_made_once(sessions: Sessions) -> None:
    for _ in range(2):
        async with sessions.begin() as session:
            await ensure_admin(session, "omoi_the_token", now=datetime.now(UTC))

    async with sessions() as session:
        (user,) = (await session.execute(select(User))).scalars()
        assert (user.email, user.role) == ("admin@localhost", Role.ADMIN)
        assert await session.scalar(select(func.count()).select_from(ApiKey)) == 1


async def valid_tokens(sessions: Sessions) -> set[str]:
    async with sessions() as session:
        return set((await session.execute(select(ApiKey.last_four).where(ApiKey.revoked_at.is_(None)))).scalars())


async def test_a_replaced_token_works_no_more_and_one_that_comes_back_does(sessions: Sessions) -> None:
    for token in ("omoi_first-aaaa", "omoi_second-bbbb", "omoi_first-aaaa"):
        async with sessions.begin() as session:
            await ensure_admin(session, token, now=datetime.now(UTC))

        assert await valid_tokens(sessions) == {token[-4:]}


async def test_the_tokens_of_two_data_folders_do_not_replace_each_other(sessions: Sessions) -> None:
    for token, folder in (("omoi_one-aaaa", "folder a"), ("omoi_two-bbbb", "folder b"), ("omoi_new-cccc", "folder a")):
        async with sessions.begin() as session:
            replaces = (SETTING, folder)
            await ensure_admin(session, token, now=datetime.now(UTC), source=folder, replaces=replaces)

    assert await valid_tokens(sessions) == {"bbbb", "cccc"}


async def test_a_token_that_a_person_revoked_stays_revoked(sessions: Sessions) -> None:
    async with sessions.begin() as session:
        admin = await ensure_admin(session, "omoi_the-token", now=datetime.now(UTC))
    async with sessions.begin() as session:
        (key,) = (await session.execute(select(ApiKey))).scalars()
        await revoke_key(session, MemoryBus(), admin.id, key.id, now=datetime.now(UTC))
    async with sessions.begin() as session:
        await ensure_admin(session, "omoi_the-token", now=datetime.now(UTC))

    assert await valid_tokens(sessions) == set()
