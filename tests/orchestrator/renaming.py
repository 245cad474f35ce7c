"""A provider whose own names of sandboxes differ from our ids."""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

from omoi_os.providers.base import ExecResult, ListedSandbox, SandboxRef, SandboxReport, SandboxSpec
from omoi_os.providers.local.host.provider import LocalProvider

_PREFIX = "moon-"


class Renaming(LocalProvider):
    """Local sandboxes under names that are not our ids, as many platforms name theirs."""

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        return _named(await super().create(spec))

    async def exec(
        self, ref: SandboxRef, argv: Sequence[str], *, stdin: bytes = b"", cwd: str | None = None, timeout: timedelta
    ) -> ExecResult:
        return await super().exec(_unnamed(ref), argv, stdin=stdin, cwd=cwd, timeout=timeout)

    async def read_file(self, ref: SandboxRef, path: str) -> bytes:
        return await super().read_file(_unnamed(ref), path)

    async def inspect(self, ref: SandboxRef, *, wait: timedelta | None = None) -> SandboxReport:
        return await super().inspect(_unnamed(ref), wait=wait)

    async def list(self, *, owner: str) -> AsyncIterator[ListedSandbox]:
        async for listed in super().list(owner=owner):
            yield ListedSandbox(_named(listed.ref), id=listed.id)

    async def destroy(self, ref: SandboxRef) -> None:
        await super().destroy(_unnamed(ref))

    async def keep(self, ref: SandboxRef) -> int | None:
        return await super().keep(_unnamed(ref))


def _named(ref: SandboxRef) -> SandboxRef:
    return SandboxRef(f"{_PREFIX}{ref}")


def _unnamed(ref: SandboxRef) -> SandboxRef:
    assert ref.startswith(_PREFIX), f"the provider was called with {ref}, which it never returned"
    return SandboxRef(ref.removeprefix(_PREFIX))
