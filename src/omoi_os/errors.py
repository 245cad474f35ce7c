"""The error tree. Each class carries the HTTP status and the short code that the API answers with.

OmoiError
├── ConfigError            a setting is wrong; stops the start with one line
├── SetupError             the machine lacks or refuses something; names the remedy
├── RequestError           the request cannot be served as sent
│   ├── BadToken           401
│   │   └── UnknownSandboxToken  no sandbox has this token
│   ├── Forbidden          403
│   ├── NotFound           404: absent or not visible to the caller
│   ├── Conflict           409
│   │   ├── BeyondGap      409: an event before the posted one is missing
│   │   ├── SeqTaken       409: the posted number belongs to another event
│   │   └── StaleFence     409 `stale_fence`: the token of an ended or superseded attempt
│   ├── TooLarge           413
│   ├── Invalid            422
│   │   └── DestinationRefused  422: a URL leads to an address that may not be reached
│   └── TooMany            429
├── NotReady               503
│   └── DatabaseUnavailable  the same request succeeds once the database answers
├── DiskFull               507: a disk of the installation is full
├── CredentialError        409: a stored secret cannot be used
│   ├── CredentialLocked   the key that encrypted it is missing
│   └── CredentialMissing  none applies to this person any more
├── ForgeError             the repository host failed or refused
│   ├── BranchTaken        the name of a new branch is in use
│   └── RepositoryDamaged  its files are empty or corrupt; retrying does not help
└── ProviderError          the sandbox provider failed
    ├── ProviderUnavailable  retry later
    ├── SandboxGone          that sandbox no longer exists
    └── SandboxDamaged       the documents of that sandbox cannot be read
"""

from http import HTTPStatus
from typing import ClassVar


class OmoiError(Exception):
    """Base class of all expected errors. The message is one sentence for a person."""

    status: ClassVar[HTTPStatus] = HTTPStatus.INTERNAL_SERVER_ERROR
    code: ClassVar[str] = "internal_error"


class ConfigError(OmoiError):
    """A setting is unknown or has a bad value."""

    code = "bad_setting"


class SetupError(OmoiError):
    """The machine lacks or refuses something that is needed; the message names the remedy."""

    code = "setup"


class RequestError(OmoiError):
    """A request that cannot be served as asked."""

    status = HTTPStatus.BAD_REQUEST
    code = "bad_request"


class BadToken(RequestError):
    """The token is missing or unknown."""

    status = HTTPStatus.UNAUTHORIZED
    code = "bad_token"


class UnknownSandboxToken(BadToken):
    """No sandbox has this token."""

    def __init__(self) -> None:
        super().__init__("this sandbox token is unknown")


class Forbidden(RequestError):
    """The caller is known but not allowed to do this."""

    status = HTTPStatus.FORBIDDEN
    code = "forbidden"


class NotFound(RequestError):
    """Absent, or not visible to the caller."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class Conflict(RequestError):
    """The current state does not allow this."""

    status = HTTPStatus.CONFLICT
    code = "conflict"


class BeyondGap(Conflict):
    """The event is not stored because an event before it is missing."""

    def __init__(self, seq: int | None, acked_seq: int) -> None:
        super().__init__(f"seq {seq} is beyond a gap; send seq {acked_seq + 1} first")
        self.acked_seq = acked_seq


class SeqTaken(Conflict):
    """The posted number was used for a different event, which is kept."""


class StaleFence(Conflict):
    """The token of an attempt that has ended or was superseded."""

    code = "stale_fence"


class TooLarge(RequestError):
    """The body is too large."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "too_large"


class Invalid(RequestError):
    """The input is not valid."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "invalid"


class DestinationRefused(Invalid):
    """A URL or host name leads to an address that may not be reached."""

    code = "destination_refused"


class TooMany(RequestError):
    """A limit is reached."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many"


class NotReady(OmoiError):
    """A dependency does not answer."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "not_ready"


class DatabaseUnavailable(NotReady):
    """The database does not answer."""

    def __init__(self) -> None:
        super().__init__("the database is not available; try again in a moment")


class DiskFull(OmoiError):
    """A disk of the installation is full; the same request succeeds once there is space."""

    status = HTTPStatus.INSUFFICIENT_STORAGE
    code = "disk_full"


class CredentialError(OmoiError):
    """A stored credential cannot be used. Other credentials are not affected."""

    status = HTTPStatus.CONFLICT
    code = "credential"


class CredentialLocked(CredentialError):
    """A credential cannot be decrypted: its key is missing, or its row was changed."""

    code = "credential_locked"


class CredentialMissing(CredentialError):
    """No credential applies to a person any more."""

    code = "credential_missing"


class ForgeError(OmoiError):
    """The repository host failed or refused."""

    code = "forge"


class BranchTaken(ForgeError):
    """The name of a new branch is in use, or collides with another one.

    `existing` are the names of the branches that the repository holds.
    """

    code = "branch_taken"

    def __init__(self, name: str, existing: frozenset[str]) -> None:
        super().__init__(f"branch {name!r} cannot be created: the repository already has a branch of that name")
        self.existing = existing


class RepositoryDamaged(ForgeError):
    """The repository's files are corrupt; retrying does not help."""

    code = "repository_damaged"


class ProviderError(OmoiError):
    """The sandbox provider failed."""

    code = "provider"


class ProviderUnavailable(ProviderError):
    """The provider does not answer; retry later."""

    code = "provider_unavailable"


class SandboxGone(ProviderError):
    """That sandbox no longer exists."""

    code = "sandbox_gone"


class SandboxDamaged(ProviderError):
    """A document of that sandbox is empty or corrupt; the sandbox can only be destroyed."""

    code = "sandbox_damaged"
