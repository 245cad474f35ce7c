"""Whose credential applies, without a gateway: forges have no fallback, and models are named for each person."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.accounts.service import ensure_admin
from omoi_os.bus.memory import MemoryBus
from omoi_os.config import DEFAULT_MODEL, Settings
from omoi_os.credentials import service
from omoi_os.credentials.encryption import Keyring
from omoi_os.credentials.kinds import CredentialProvider
from omoi_os.credentials.models import Credential
from omoi_os.credentials.resolver import git_access, github_token, installation_model, model_names
from omoi_os.credentials.values import NewCredential
from omoi_os.visibility import Role
from tests.builders import a_user
from tests.conftest import NOON

TOKEN = "ghp_of_the_installation"

Give = Callable[..., Awaitable[Credential]]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"github_token": TOKEN})


@pytest.fixture
def give(session: AsyncSession, keyring: Keyring, settings: Settings) -> Give:
    async def add(
        user: User, secret: str, provider: CredentialProvider = CredentialProvider.GITHUB, **fields: Any
    ) -> Credential:
        new = NewCredential(CredentialProvider(provider), secret, secret, **fields)
        return await service.add(session, MemoryBus(), keyring, user, new, settings=settings, now=NOON)

    return add


async def test_a_github_token_is_the_persons_own_or_none(
    session: AsyncSession, keyring: Keyring, settings: Settings, give: Give
) -> None:
    first = await ensure_admin(session, "omoi_the_first_administrator", now=NOON)
    ada, eve, admin = await a_user(session), await a_user(session), await a_user(session, role=Role.ADMIN)
    await give(ada, "ghp_of_ada")

    found = [await github_token(session, keyring, settings, user.id) for user in (first, ada, eve, admin)]

    assert found == [TOKEN, "ghp_of_ada", None, None]


async def test_the_first_administrators_stored_token_is_preferred_and_ends_with_the_account(
    session: AsyncSession, keyring: Keyring, settings: Settings, give: Give
) -> None:
    first = await ensure_admin(session, "omoi_the_first_administrator", now=NOON)
    await give(first, "ghp_of_the_first")
    assert await github_token(session, keyring, settings, first.id) == "ghp_of_the_first"

    first.deactivated_at = NOON
    await session.flush()

    assert await github_token(session, keyring, settings, first.id) is None


async def test_a_git_credential_is_for_one_host_of_one_person(
    session: AsyncSession, keyring: Keyring, give: Give
) -> None:
    ada, bob = await a_user(session), await a_user(session)
    await give(ada, "a password", CredentialProvider.GIT, base_url="https://git.example.org", username="ada")

    found = await git_access(session, keyring, ada.id, "https://git.example.org")
    assert found is not None
    assert (found.username, found.secret, "a password" in repr(found)) == ("ada", "a password", False)
    assert await git_access(session, keyring, ada.id, "https://git.example.com") is None
    assert await git_access(session, keyring, bob.id, "https://git.example.org") is None


async def test_each_persons_tasks_name_the_model_that_will_answer(
    session: AsyncSession, settings: Settings, give: Give
) -> None:
    without_key = settings.model_copy(update={"anthropic_api_key": None})
    ada, bob, eve = [await a_user(session) for _ in range(3)]
    await give(ada, "key-of-ada", CredentialProvider.ANTHROPIC)
    await give(bob, "key-of-bob", CredentialProvider.ANTHROPIC, model="glm-4.6")

    names = await model_names(session, without_key, [ada.id, bob.id, eve.id])
    forced = await model_names(session, without_key.model_copy(update={"model": "scripted"}), [ada.id])

    assert [names[user.id].for_task(None) for user in (ada, bob, eve)] == [DEFAULT_MODEL, "glm-4.6", "scripted"]
    assert [names[user.id].for_task("opus") for user in (ada, bob, eve)] == ["opus", "glm-4.6", "scripted"]
    assert forced[ada.id].for_task("opus") == "scripted"


async def test_a_shared_credential_gives_everyone_a_model(
    session: AsyncSession, settings: Settings, give: Give
) -> None:
    admin, eve = await a_user(session, role=Role.ADMIN), await a_user(session)
    await give(admin, "key-of-everyone", CredentialProvider.ANTHROPIC, shared=True)

    without_key = settings.model_copy(update={"anthropic_api_key": None})

    assert (await model_names(session, without_key, [eve.id]))[eve.id].name == DEFAULT_MODEL
    assert await installation_model(session, without_key) == DEFAULT_MODEL
