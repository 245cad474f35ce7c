"""Identifies the person who uses git, and the project that they ask for."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.auth import SANDBOX_PREFIX, check_scope
from omoi_os.accounts.deps import SandboxTokens, known_user
from omoi_os.accounts.key_uses import KeyUses
from omoi_os.accounts.models import User
from omoi_os.accounts.sessions import SESSION_PREFIX
from omoi_os.audit.trail import Trail, refused
from omoi_os.db.base import Sessions
from omoi_os.db.clock import Clock
from omoi_os.errors import BadToken, Forbidden, NotFound
from omoi_os.forges.smart_http import calls
from omoi_os.forges.smart_http.calls import Call
from omoi_os.projects import service as projects
from omoi_os.projects.models import Project
from omoi_os.projects.permissions import may_push, role_in

#: Matched with the path as the client sent it: an encoded character is part of no valid path.
_PATH = re.compile(rb"/git/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.git/([a-z/-]+)")
_MISSING = "sign in with any user name and an API key as the password"


@dataclass(frozen=True, slots=True)
class Caller:
    """A person and the project whose repository they use."""

    user: User
    project: Project
    call: Call


class Callers:
    """Finds the person by the API key that git sends as a password."""

    def __init__(
        self, sessions: Sessions, trail: Trail, clock: Clock, sandbox_of_token: SandboxTokens, key_uses: KeyUses
    ) -> None:
        self._sessions, self._trail, self._clock = sessions, trail, clock
        self._sandbox_of_token, self._key_uses = sandbox_of_token, key_uses

    async def identify(self, method: str, raw_path: bytes, service: str, headers: Mapping[str, str]) -> Caller:
        """Return who asks for what.

        Raise `BadToken` without a valid key, `NotFound` for a project that the person may not see, and `Forbidden` for
        a push that they may not make.
        """
        key = _password(headers.get("authorization", ""))
        async with self._sessions() as session:
            await self._record_sandbox(session, key, f"{method} {raw_path.decode(errors='replace')}")
            now = self._clock.now()
            identity = await known_user(session, key, sandbox_of=self._sandbox_of_token, now=now)
            if identity.key is not None:
                self._key_uses.note(identity.key.id, now=now)
            match = _PATH.fullmatch(raw_path)
            if match is None:
                raise NotFound("there is no repository at this address; copy the clone URL of a project")
            call = calls.read_call(method, match[2].decode(), service=service)
            project = await projects.get_visible(session, UUID(match[1].decode()), user=identity.user)
            if call.service == calls.PUSH:
                check_scope(identity, "POST")
                role = await role_in(session, identity.user, project.id)
                if role is None or not may_push(role):
                    raise Forbidden(f"you may not push to project {project.id}; ask its owner")
        return Caller(identity.user, project, call)

    async def _record_sandbox(self, session: AsyncSession, key: str, call: str) -> None:
        """Leave an audit entry if the key is the token of a sandbox, which `known_user` refuses."""
        if key.startswith(SANDBOX_PREFIX) and (sandbox := await self._sandbox_of_token(session, key)) is not None:
            await self._trail.record(refused(sandbox, call, "a sandbox's token is not allowed to do this"))


def _password(header: str) -> str:
    """Return the password of an `Authorization` header. Raise `BadToken` if it has none."""
    scheme, _, encoded = header.partition(" ")
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise BadToken(_MISSING) from None
    password = decoded.partition(":")[2]
    # The session of a browser is not a password.
    if scheme.lower() != "basic" or not password or password.startswith(SESSION_PREFIX):
        raise BadToken(_MISSING)
    return password
