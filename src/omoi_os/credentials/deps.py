"""The credential in the path, and what routes need to encrypt and mask one."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Request

from omoi_os.accounts.deps import CurrentUser
from omoi_os.credentials import service
from omoi_os.credentials.encryption import Keyring
from omoi_os.credentials.masks import CredentialMasks
from omoi_os.credentials.models import Credential
from omoi_os.http.deps import DbSession

CredentialId = Annotated[UUID, Path(description="Id of a credential, as `GET /credentials` lists it.")]


async def _keyring(request: Request) -> Keyring:
    keyring: Keyring = request.app.state.keyring
    return keyring


async def _masks(request: Request) -> CredentialMasks:
    masks: CredentialMasks = request.app.state.credential_masks
    return masks


AppKeyring = Annotated[Keyring, Depends(_keyring)]
AppMasks = Annotated[CredentialMasks, Depends(_masks)]


async def visible_credential(user: CurrentUser, credential_id: CredentialId, session: DbSession) -> Credential:
    """Return the credential in the path; raise `NotFound` unless it is yours, or shared and yours to administer."""
    return await service.get(session, user, credential_id)


VisibleCredential = Annotated[Credential, Depends(visible_credential)]
