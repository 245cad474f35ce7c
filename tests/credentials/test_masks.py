"""Every process that masks knows the secrets of all credentials, as they come and go."""

import asyncio
from collections.abc import Iterable

import pytest

from omoi_os.accounts.models import User
from omoi_os.bus.postgres import PostgresBus
from omoi_os.config import Settings
from omoi_os.credentials import service
from omoi_os.credentials.encryption import Keyring, key_path
from omoi_os.credentials.kinds import CredentialProvider
from omoi_os.credentials.masks import CredentialMasks
from omoi_os.credentials.models import Credential
from omoi_os.credentials.values import NewCredential
from omoi_os.db.base import Sessions
from omoi_os.masking import MASK, Masker
from tests.builders import a_user
from tests.conftest import NOON
from tests.credentials.test_routes import SSH_KEY

FIRST, SECOND = "the-first-secret", "the-second-secret"


class NotingMasker(Masker):
    """A masker that says when its values have changed."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        super().__init__()

    def add(self, values: Iterable[str | None]) -> None:
        super().add(values)
        self.changed.set()

    def remove(self, values: Iterable[str | None]) -> None:
        super().remove(values)
        self.changed.set()

    async def next_change(self) -> None:
        async with asyncio.timeout(30):
            await self.changed.wait()
        self.changed.clear()


class Person:
    """A user who adds and deletes credentials in another process."""

    def __init__(self, sessions: Sessions, bus: PostgresBus, settings: Settings, user: User) -> None:
        self.sessions, self.bus, self.settings, self.user = sessions, bus, settings, user

    async def add(self, secret: str) -> Credential:
        new = NewCredential(CredentialProvider.ANTHROPIC, "x", secret)
        async with self.sessions.begin() as session:
            return await service.add(
                session, self.bus, Keyring(self.settings), self.user, new, settings=self.settings, now=NOON
            )

    async def delete(self, row: Credential) -> None:
        async with self.sessions.begin() as session:
            await service.delete(session, self.bus, row)


@pytest.fixture
def masker() -> NotingMasker:
    return NotingMasker()


@pytest.fixture
async def person(sessions: Sessions, database_url: str, settings: Settings) -> Person:
    async with sessions.begin() as session:
        user = await a_user(session)
    return Person(sessions, PostgresBus(database_url), settings, user)


@pytest.fixture
def masks(masker: NotingMasker, sessions: Sessions, settings: Settings) -> CredentialMasks:
    return CredentialMasks(masker, sessions, Keyring(settings))


async def test_secrets_are_masked_from_the_start_and_as_they_come_and_go(
    person: Person, masks: CredentialMasks, masker: NotingMasker
) -> None:
    first = await person.add(FIRST)
    async with masks.kept(person.bus):
        assert masker.mask_text(FIRST) == MASK
        masker.changed.clear()

        await person.add(SECOND)
        await masker.next_change()
        assert masker.mask_text(f"{FIRST} {SECOND}") == f"{MASK} {MASK}"

        await person.delete(first)
        await masker.next_change()
        assert masker.mask_text(f"{FIRST} {SECOND}") == f"{FIRST} {MASK}"


async def test_the_same_secret_in_two_credentials_is_masked_until_both_are_gone(
    person: Person, masks: CredentialMasks, masker: NotingMasker
) -> None:
    rows = [await person.add(FIRST) for _ in range(2)]
    await masks.refresh()

    for row, shown in zip(rows, (MASK, FIRST), strict=True):
        await person.delete(row)
        await masks.refresh()
        assert masker.mask_text(FIRST) == shown


async def test_a_credential_whose_key_is_lost_is_logged_once_and_stops_nothing(
    person: Person, masks: CredentialMasks, masker: NotingMasker, caplog: pytest.LogCaptureFixture
) -> None:
    await person.add(FIRST)
    key_path(person.settings).unlink()
    await person.add(SECOND)

    for _ in range(2):
        await masks.refresh()

    assert (masker.mask_text(FIRST), masker.mask_text(SECOND)) == (FIRST, MASK)
    assert [record.message.partition(" because")[0] for record in caplog.records] == [
        "the credential 'x' cannot be decrypted"
    ]


def test_each_line_of_a_private_key_is_masked(masks: CredentialMasks, masker: NotingMasker, person: Person) -> None:
    masks.learn(person.user.id, SSH_KEY)

    lines = SSH_KEY.splitlines()

    assert masker.mask_text(f"found {lines[1]} here") == f"found {MASK} here"
    assert lines[2] not in masker.mask_text("\n".join(lines[2:]))
