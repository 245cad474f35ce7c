"""Decides whose credential applies. Everything that uses one asks here.

A model call uses the person's own default, else the installation's shared one, else the key in the settings. GitHub and
git have no fallback: work there is always done as the person. No function returns another person's own credential.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts import repository as accounts
from omoi_os.accounts.service import ADMIN_EMAIL
from omoi_os.config import DEFAULT_MODEL, Settings
from omoi_os.credentials import repository
from omoi_os.credentials.encryption import Keyring
from omoi_os.credentials.kinds import CredentialProvider
from omoi_os.credentials.models import Credential


@dataclass(frozen=True, slots=True)
class ModelName:
    """The model of one person's tasks."""

    name: str
    #: A task that asks for another model gets this one: the scripted model, or the one that a credential names.
    fixed: bool

    def for_task(self, wanted: str | None) -> str:
        """Return the model for a task that asks for this one, or for none."""
        return self.name if self.fixed else wanted or self.name


@dataclass(frozen=True, slots=True)
class GitAccess:
    """How a person authenticates to a git host."""

    base_url: str
    username: str | None
    known_hosts: str | None
    secret: str = field(repr=False)


async def model_credential(session: AsyncSession, settings: Settings, user_id: UUID) -> Credential | None:
    """Return the stored credential for a person's model calls; None if the settings decide."""
    if settings.model == "scripted":
        return None
    return (await repository.model_defaults(session, [user_id])).get(user_id)


async def model_names(session: AsyncSession, settings: Settings, user_ids: Collection[UUID]) -> dict[UUID, ModelName]:
    """Return the model of each of these people's tasks, in one query."""
    of_settings = ModelName(settings.model_name, fixed=settings.uses_scripted_model)
    names = dict.fromkeys(user_ids, of_settings)
    if user_ids and settings.model != "scripted":
        for user_id, row in (await repository.model_defaults(session, user_ids)).items():
            names[user_id] = ModelName(row.model or settings.model or DEFAULT_MODEL, fixed=row.model is not None)
    return names


async def installation_model(session: AsyncSession, settings: Settings) -> str:
    """Return the model for people without a credential."""
    nobody = UUID(int=0)
    return (await model_names(session, settings, [nobody]))[nobody].name


async def github_token(session: AsyncSession, keyring: Keyring, settings: Settings, user_id: UUID) -> str | None:
    """Return a person's own GitHub token, or None. Raise `CredentialLocked`.

    `GITHUB_TOKEN` is the first administrator's own, and nobody else's.
    """
    row = await repository.own_default(session, user_id, CredentialProvider.GITHUB)
    if row is not None:
        return keyring.decrypt(row)
    if settings.github_token is None:
        return None
    first = await accounts.by_email(session, ADMIN_EMAIL)
    is_theirs = first is not None and first.id == user_id and first.deactivated_at is None
    return settings.github_token if is_theirs else None


async def git_access(session: AsyncSession, keyring: Keyring, user_id: UUID, base_url: str) -> GitAccess | None:
    """Return how a person authenticates to a git host, named as `https://host` or `ssh://host`. Raise
    `CredentialLocked`.
    """
    row = await repository.own_default(session, user_id, f"{CredentialProvider.GIT} {base_url}")
    if row is None:
        return None
    return GitAccess(base_url, row.username, row.known_hosts, keyring.decrypt(row))
