"""Keys are rotated while everything runs."""

from pathlib import Path

import pytest
from sqlalchemy import select

from omoi_os.accounts.models import User
from omoi_os.bus.memory import MemoryBus
from omoi_os.config import Settings
from omoi_os.credentials import service
from omoi_os.credentials.encryption import Keyring, key_path
from omoi_os.credentials.kinds import CredentialProvider
from omoi_os.credentials.models import Credential
from omoi_os.credentials.values import NewCredential
from omoi_os.db.base import Sessions
from tests.builders import a_user
from tests.conftest import NOON

BUS = MemoryBus()


async def add(sessions: Sessions, keyring: Keyring, settings: Settings, user: User, secret: str) -> None:
    async with sessions.begin() as session:
        new = NewCredential(CredentialProvider.ANTHROPIC, secret, secret)
        await service.add(session, BUS, keyring, user, new, settings=settings, now=NOON)


async def opened(sessions: Sessions, keyring: Keyring) -> list[str]:
    async with sessions() as session:
        rows = (await session.execute(select(Credential).order_by(Credential.id))).scalars().all()
        return [keyring.decrypt(row) for row in rows]


@pytest.fixture
async def user(sessions: Sessions) -> User:
    async with sessions.begin() as session:
        return await a_user(session)


async def test_rotation_encrypts_everything_with_a_new_key_that_running_processes_find(
    sessions: Sessions, settings: Settings, user: User
) -> None:
    running = Keyring(settings)
    for number in range(3):
        await add(sessions, running, settings, user, f"secret-{number}")
    old = key_path(settings).read_text()

    async with sessions.begin() as session:
        done, locked = await service.rotate(session, BUS, Keyring(settings), new_key=True)
    await add(sessions, running, settings, user, "secret-3")

    new = key_path(settings).read_text()
    assert (done, locked) == (3, [])
    assert (new.endswith(old), len(new.split())) == (True, 2)
    assert await opened(sessions, running) == [f"secret-{number}" for number in range(4)]
    # The old key is needed only for older backups.
    key_path(settings).write_text(new.splitlines()[0])
    assert await opened(sessions, Keyring(settings)) == [f"secret-{number}" for number in range(4)]


async def test_keys_of_the_settings_rotate_by_putting_a_new_one_first(
    sessions: Sessions, settings: Settings, user: User
) -> None:
    old, new = "the-old-key-of-the-operator", "the-new-key-of-the-operator"
    before = settings.model_copy(update={"secret_keys": (old,)})
    await add(sessions, Keyring(before), before, user, "secret-0")

    during = Keyring(settings.model_copy(update={"secret_keys": (new, old)}))
    async with sessions.begin() as session:
        assert await service.rotate(session, BUS, during, new_key=False) == (1, [])

    assert await opened(sessions, Keyring(settings.model_copy(update={"secret_keys": (new,)}))) == ["secret-0"]


async def test_a_credential_whose_key_is_lost_stays_as_it_is(
    sessions: Sessions, settings: Settings, user: User, tmp_path: Path
) -> None:
    await add(sessions, Keyring(settings), settings, user, "secret-0")
    kept = key_path(settings).rename(tmp_path / "kept")
    await add(sessions, Keyring(settings), settings, user, "secret-1")

    async with sessions.begin() as session:
        done, locked = await service.rotate(session, BUS, Keyring(settings), new_key=True)

    assert (done, [row.name for row in locked]) == (1, ["secret-0"])
    with key_path(settings).open("a") as file:
        file.write(kept.read_text())
    assert await opened(sessions, Keyring(settings)) == ["secret-0", "secret-1"]
