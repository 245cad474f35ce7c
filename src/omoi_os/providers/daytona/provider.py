"""Sandboxes at Daytona, each supervised by a guest inside."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta

from daytona import AsyncDaytona, DaytonaConfig, ListSandboxesQuery

from omoi_os.errors import ProviderError
from omoi_os.providers.base import ExecResult, ListedSandbox, Runtime, SandboxRef, SandboxReport, SandboxSpec
from omoi_os.providers.daytona import callback, creation, files, guest_calls, lookup, transfer
from omoi_os.providers.daytona import reports as endings
from omoi_os.providers.daytona.faults import called, translated
from omoi_os.providers.daytona.gaps import SMALLEST, gaps_of, limits_of, limits_warning
from omoi_os.providers.daytona.params import LABEL_ID, LABEL_OWNER, Account, Source, create_params
from omoi_os.providers.image import IMAGE_RUNTIME

_PAGE = 100


class DaytonaProvider:
    """Creates sandboxes through Daytona's API. The reference of a sandbox is its name there, which is its id."""

    name = "daytona"
    has_gateway_socket = False
    smallest = SMALLEST

    def __init__(
        self,
        account: Account,
        *,
        callback_url: str | None,
        source: Source = Source(),  # noqa: B008 - it cannot be changed
        runtime: Runtime = IMAGE_RUNTIME,
        open_network: bool = False,
        waits: creation.Waits = creation.Waits(),  # noqa: B008 - it cannot be changed
    ) -> None:
        """Raise `ConfigError` for a callback address that the sandboxes cannot reach."""
        gateway = callback.check_callback(callback_url, api_url=account.api_url)
        self.site = f"{account.api_url.rstrip('/')} {account.target or 'default'}"
        self.runtime = runtime
        self._config = DaytonaConfig(
            api_key=account.api_key, api_url=account.api_url, target=account.target, otel_enabled=False
        )
        self._source = source if open_network else replace(source, gateway=gateway)
        self.limits = limits_of(self._source)
        self.limits_warning: str | None = limits_warning(self._source)
        self.gaps = gaps_of(self._source)
        self._waits = waits
        self._connected: AsyncDaytona | None = None

    async def close(self) -> None:
        """Close the connections. The provider can be used again after it."""
        client, self._connected = self._connected, None
        if client is not None:
            await client.close()  # type: ignore[no-untyped-call]

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        """Create it and start its first process. Raises `ProviderError` if the id already exists."""
        mark = secrets.token_hex(8)
        params = create_params(spec, self._source, creation=mark)
        try:
            sandbox = await creation.make(self._client(), params, creation=mark, waits=self._waits)
            await creation.begin(sandbox, spec, self.runtime, package_index=self._source.package_index)
        except (creation.Refused, creation.Unanswered):
            raise
        except BaseException:
            undoing = creation.undo(self._client(), spec.id, mark, looks=self._waits.looks)
            await asyncio.shield(asyncio.ensure_future(undoing))
            raise
        return SandboxRef(spec.id)

    async def exec(
        self, ref: SandboxRef, argv: Sequence[str], *, stdin: bytes = b"", cwd: str | None = None, timeout: timedelta
    ) -> ExecResult:
        """Run a command to its end. A program that cannot be started is reported as exit code 126 or 127."""
        if not argv or any("\0" in word for word in (*argv, cwd or "")):
            raise ProviderError("A command must have at least one word, and no word may contain a zero byte.")
        sandbox = await lookup.running(self._client(), ref)
        seconds = timeout.total_seconds()
        try:
            with translated(ref):
                return await guest_calls.run(sandbox, self.runtime.python, argv, stdin=stdin, cwd=cwd, seconds=seconds)
        except ProviderError:
            await lookup.found(self._client(), ref)
            raise

    async def write_file(self, ref: SandboxRef, path: str, content: bytes) -> None:
        """Write a file inside, creating its parents. The path is absolute and under the home or the workspace."""
        files.check_path(path)
        sandbox = await lookup.running(self._client(), ref)
        with translated(ref):
            await transfer.write(sandbox, self.runtime.python, path, content)

    async def read_file(self, ref: SandboxRef, path: str) -> bytes:
        """Read a file from inside, also after the sandbox ended. Raises `FileNotFoundError`."""
        files.check_path(path)
        sandbox = await lookup.running(self._client(), ref)
        with translated(ref):
            return await transfer.read(sandbox, self.runtime.python, path)

    async def inspect(self, ref: SandboxRef, *, wait: timedelta | None = None) -> SandboxReport:
        """Report whether it is alive, or how it ended; with `wait`, as soon as it ends or after that long."""
        deadline = time.monotonic() + (wait.total_seconds() if wait else 0)
        while True:
            sandbox = await lookup.found(self._client(), ref)
            async with called(ref):
                report = await endings.report(sandbox)
                left = deadline - time.monotonic()
                if report.alive and left <= 0 and lookup.state_of(sandbox) == "started":
                    return await endings.usage(sandbox, self.runtime.python)
                if not report.alive or left <= 0:
                    return report
                await endings.follow(sandbox, left)

    async def list(self, *, owner: str) -> AsyncIterator[ListedSandbox]:
        """Yield every sandbox of this owner that was not destroyed, alive or ended."""
        query = ListSandboxesQuery(labels={LABEL_OWNER: owner}, limit=_PAGE)
        with translated(f"list of {owner}"):
            async for sandbox in self._client().list(query):
                ours = sandbox.labels.get(LABEL_OWNER) == owner and LABEL_ID in sandbox.labels
                if ours and lookup.state_of(sandbox) not in lookup.GONE:
                    yield ListedSandbox(SandboxRef(sandbox.name), id=sandbox.labels[LABEL_ID])

    async def destroy(self, ref: SandboxRef) -> None:
        """End it and remove every trace. Destroying a sandbox that no longer exists succeeds."""
        await lookup.destroy(self._client(), ref)

    def _client(self) -> AsyncDaytona:
        """Return the client. It is created in the running loop, which owns its connections."""
        if self._connected is None:
            self._connected = AsyncDaytona(self._config)
        return self._connected
