"""Translates the errors of Daytona's SDK to ours."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version

import aiohttp
from daytona import (
    DaytonaAuthenticationError,
    DaytonaAuthorizationError,
    DaytonaConnectionError,
    DaytonaError,
    DaytonaNotFoundError,
    DaytonaRateLimitError,
    DaytonaTimeoutError,
)
from pydantic import ValidationError

from omoi_os.errors import ProviderError, ProviderUnavailable, SandboxGone

#: The newest SDK that works with old and new servers.
SDK = "daytona==0.190.0"

#: How long one ordinary call may take.
CALL_SECONDS = 60.0

_REFUSED = (DaytonaAuthenticationError, DaytonaAuthorizationError)
_PASSING = (DaytonaConnectionError, DaytonaTimeoutError, DaytonaRateLimitError)
_PASSING_STATUS = (408, 425, 429)
_NETWORK = (aiohttp.ClientError, OSError, TimeoutError)


@contextmanager
def translated(ref: str) -> Iterator[None]:
    """Raise errors of the provider contract for those of the SDK about this sandbox."""
    try:
        yield
    except DaytonaError as error:
        raise as_ours(error, ref) from error


@asynccontextmanager
async def called(ref: str, seconds: float = CALL_SECONDS) -> AsyncIterator[None]:
    """Limit the time of a call about this sandbox, and translate its errors."""
    try:
        async with asyncio.timeout(seconds):
            with translated(ref):
                yield
    except TimeoutError:
        raise ProviderUnavailable(f"Daytona did not answer about sandbox {ref} within {seconds:g} s.") from None


def as_ours(error: DaytonaError, ref: str) -> ProviderError:
    """Return the error of the provider contract that corresponds to one of the SDK."""
    if isinstance(error, DaytonaNotFoundError):
        return SandboxGone(f"Sandbox {ref} no longer exists.")
    if isinstance(error, _REFUSED) or error.status_code in (401, 403):
        return ProviderError("Daytona refused the API key: check DAYTONA_API_KEY and what it may do.")
    if isinstance(error.__context__, ValidationError):
        return ProviderError(
            f"The installed Daytona SDK {version('daytona')} does not understand this server: install {SDK}."
        )
    if is_passing(error):
        return ProviderUnavailable(f"Daytona does not serve sandbox {ref} now: {_short(error)}")
    return ProviderError(f"Daytona failed on sandbox {ref}: {_short(error)}")


def is_passing(error: DaytonaError) -> bool:
    """Return whether the same call may succeed later, so that the outcome of this one is unknown."""
    status = error.status_code or 0
    by_kind = isinstance(error, _PASSING) or isinstance(error.__context__, _NETWORK)
    return by_kind or status >= 500 or status in _PASSING_STATUS


def _short(error: DaytonaError) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else f"{text[:300]}…"
