"""Quotas for pushes: per project's repository and per sandbox."""

from collections.abc import AsyncIterator
from pathlib import Path

from omoi_os.forges.smart_http.quota import GIB, left_bytes
from omoi_os.gateway.callers import Caller
from omoi_os.gateway.context import Parts


async def allowed_bytes(parts: Parts, caller: Caller, git_dir: Path) -> tuple[int, str | None]:
    """Return how many bytes a push may contain, and one sentence if that is 0. Git itself refuses a larger pack."""
    settings = parts.settings
    left, full = await left_bytes(git_dir, limit_gb=settings.project_repository_gb)
    if full is not None:
        return 0, full
    own = int(settings.sandbox_push_gb * GIB) - parts.pushed[caller.sandbox_id]
    if own <= 0:
        return 0, f"this sandbox has used up its push quota of {settings.sandbox_push_gb:g} GB (OMOI_SANDBOX_PUSH_GB)"
    return min(left, own), None


async def counted(parts: Parts, caller: Caller, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the body of a push and count it against the sandbox's quota."""
    async for chunk in body:
        parts.pushed[caller.sandbox_id] += len(chunk)
        yield chunk
