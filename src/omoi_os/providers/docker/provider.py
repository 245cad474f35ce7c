"""Sandboxes as containers of a Docker engine, each supervised by a guest inside."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any

from docker.errors import APIError, NotFound

from omoi_os.errors import ProviderError, SandboxGone, SetupError
from omoi_os.providers.base import ExecResult, Limits, ListedSandbox, SandboxRef, SandboxReport, SandboxSpec
from omoi_os.providers.docker import commands, container, records
from omoi_os.providers.docker.engine import Engine
from omoi_os.providers.docker.streams import GuestStream
from omoi_os.providers.image import IMAGE_RUNTIME

#: What `make image` builds.
DEFAULT_IMAGE = "omoi-sandbox"

START_SECONDS = 60.0

#: How long after its processes died a sandbox's end may be reported.
END_DELAY = timedelta(seconds=2)

_CONFLICT = 409
_GROUP = "control group, by the engine"
_GOING = ("removing", "dead")


class DockerProvider:
    """Creates sandboxes as containers. The reference of a sandbox is its container's name, which is its id."""

    name = "docker"
    runtime = IMAGE_RUNTIME
    has_gateway_socket = True
    limits = Limits(memory=_GROUP, cpu=_GROUP, pids=_GROUP, disk="measured twice a second")
    limits_warning: str | None = (
        "No file system limits the disk of a sandbox on this engine: its use is measured twice a second, "
        "and a sandbox that uses too much is ended."
    )

    def __init__(self, *, image: str = DEFAULT_IMAGE, site: Callable[[], str], host: str | None = None) -> None:
        self._find_site = site
        self._image = image
        self._engine = Engine(host)

    @cached_property
    def site(self) -> str:
        """Where it creates sandboxes. Looked up on first use, because that gives a new data folder its identity."""
        return self._find_site()

    def check(self) -> None:
        """Raise `SetupError`, with the remedy, if this machine cannot create sandboxes."""
        try:
            self._engine.api().inspect_image(self._image)  # type: ignore[no-untyped-call]
        except NotFound:
            raise SetupError(f"The image {self._image} is missing. Build it with `make image`.") from None
        except ProviderError as error:
            raise SetupError(str(error)) from None

    async def close(self) -> None:
        """Close the connections to the engine; the sandboxes stay."""
        self._engine.close()

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        """Create the container and start its first process. Raises `ProviderError` if the id already exists."""
        container.check(spec)
        creating = self._engine.submit(self._create, spec)
        try:
            await asyncio.shield(creating)
        except asyncio.CancelledError:
            await asyncio.shield(self._undo(creating, spec.id))
            raise
        return SandboxRef(spec.id)

    async def exec(
        self, ref: SandboxRef, argv: Sequence[str], *, stdin: bytes = b"", cwd: str | None = None, timeout: timedelta
    ) -> ExecResult:
        """Run a command to its end. A program that cannot be started is reported as exit code 126 or 127."""
        seconds = timeout.total_seconds()
        found = await self._engine.call(self._running, ref)
        env = container.environment_of(found)
        request = commands.run_request(argv, env=env, cwd=cwd, seconds=seconds, given=stdin)
        answer = await self._ask(ref, request, seconds=seconds)
        return commands.result(answer, argv=argv, seconds=seconds)

    async def write_file(self, ref: SandboxRef, path: str, content: bytes) -> None:
        """Write a file inside, creating its parents. The path is absolute and under the home or the workspace."""
        request = commands.file_request("write", path, content)
        await self._engine.call(self._running, ref)
        commands.file_content(await self._ask(ref, request, seconds=commands.FILE_SECONDS), path)

    async def read_file(self, ref: SandboxRef, path: str) -> bytes:
        """Read a file from inside, also after the sandbox ended. Raises `FileNotFoundError`."""
        request = commands.file_request("read", path)
        await self._engine.call(self._running, ref)
        return commands.file_content(await self._ask(ref, request, seconds=commands.FILE_SECONDS), path)

    async def inspect(self, ref: SandboxRef, *, wait: timedelta | None = None) -> SandboxReport:
        """Report whether it is alive, or how it ended; with `wait`, as soon as it ends or after that long."""
        if wait is not None:
            await self._wait_for_end(ref, wait)
        return await self._engine.call(self._report, ref)

    async def list(self, *, owner: str) -> AsyncIterator[ListedSandbox]:
        """Yield every sandbox of this owner that was not destroyed, alive or ended."""
        for name in await self._engine.call(self._owned, owner):
            yield ListedSandbox(SandboxRef(name), id=name)

    async def destroy(self, ref: SandboxRef) -> None:
        """End it and remove every trace. Destroying a sandbox that no longer exists succeeds."""
        with contextlib.suppress(SandboxGone):
            await self._engine.call(self._destroy, ref)

    def _find(self, ref: str) -> Mapping[str, Any]:
        """Return what the engine knows about a sandbox. Raises `SandboxGone`, also for a container that is not ours."""
        try:
            found: Mapping[str, Any] = self._engine.api().inspect_container(container.check_name(ref))
        except NotFound:
            raise SandboxGone(f"Sandbox {ref} no longer exists.") from None
        if found["Name"] != f"/{ref}" or container.OWNER not in (found["Config"]["Labels"] or {}):
            raise SandboxGone(f"Sandbox {ref} no longer exists.")
        return found

    @contextlib.contextmanager
    def _existing(self, ref: str) -> Iterator[None]:
        """Raise `SandboxGone` for a container that the engine does not find, or is removing."""
        try:
            yield
        except NotFound:
            raise SandboxGone(f"Sandbox {ref} no longer exists.") from None
        except APIError as error:
            if error.status_code == _CONFLICT and self._find(ref)["State"]["Status"] in _GOING:
                raise SandboxGone(f"Sandbox {ref} no longer exists.") from None
            raise

    def _running(self, ref: str) -> Mapping[str, Any]:
        """Return the same, after starting a container that has ended again, without its first process."""
        found = self._find(ref)
        if not found["State"]["Running"]:
            with self._existing(ref):
                self._engine.api().start(ref)
        return found

    def _create(self, spec: SandboxSpec) -> None:
        api = self._engine.api()
        try:
            container.create(api, spec, image=self._image)
        except APIError as error:
            if error.status_code == _CONFLICT:
                raise ProviderError(f"Sandbox {spec.id} already exists.") from None
            raise
        try:
            self._start(spec)
        except BaseException:
            self._destroy(spec.id)
            raise

    def _start(self, spec: SandboxSpec) -> None:
        """Start the guest and send what to run to its input, where nothing else can read it."""
        api = self._engine.api()
        stream = api.attach_socket(spec.id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        with contextlib.closing(GuestStream(stream, seconds=START_SECONDS)) as guest:
            api.start(spec.id)
            guest.send(commands.start_request(spec))
            for line in guest.lines():
                if line["state"] == "started":
                    return
                if line["state"] == "failed":
                    raise ProviderError(f"Sandbox {spec.id} could not be created: {line['message']}.")
            message = guest.message.decode(errors="replace").strip() or "its guest ended without a message"
            raise ProviderError(
                f"Sandbox {spec.id} could not be created: {message}. "
                f"If the image {self._image} is of another release, build it again with `make image`."
            )

    async def _undo(self, creating: "asyncio.Future[None]", ref: str) -> None:
        """Wait for the end of a cancelled creation, which takes no longer than a start, and undo it."""
        await asyncio.wait([creating])
        if creating.exception() is None:
            await self._engine.call(self._destroy, ref)

    async def _ask(self, ref: str, request: bytes, *, seconds: float) -> commands.Answer:
        """Return the guest's answer. If this call is cancelled, the guest first ends what it does."""
        began = time.time()
        stream = await self._engine.call(self._start_guest, ref, seconds)
        answering = self._engine.submit(commands.exchange, stream, request)
        try:
            answer = await asyncio.shield(answering)
        except asyncio.CancelledError:
            stream.end_input()
            await asyncio.shield(asyncio.wait([answering]))
            raise
        finally:
            if answering.done():
                stream.close()
        if not answer.end:
            await self._explain(ref, answer, began=began)
        return answer

    def _start_guest(self, ref: str, seconds: float) -> GuestStream:
        api = self._engine.api()
        command = container.serve_command(self._find(ref))
        with self._existing(ref):
            created = api.exec_create(ref, command, stdin=True)
            stream = api.exec_start(created["Id"], socket=True)
        return GuestStream(stream, seconds=seconds + commands.GRACE_SECONDS)

    async def _explain(self, ref: str, answer: commands.Answer, *, began: float) -> None:
        """Explain why a guest gave no complete answer: it was killed, or could not be started."""
        if answer.message:
            raise ProviderError(f"No command can be run in sandbox {ref}: {answer.message}.")
        # When the first process ends everything is killed, and that is reported a moment later.
        ended = await self._wait_for_end(ref, END_DELAY, since=began)
        found = await self._engine.call(self._find, ref)
        if ended or not found["State"]["Running"]:
            raise ProviderError(f"Sandbox {ref} ended while the command ran.")
        answer.end = {"word": "exit", "code": commands.KILLED}

    def _report(self, ref: str) -> SandboxReport:
        with self._existing(ref):
            return records.report(self._engine.api(), ref, self._find(ref))

    async def _wait_for_end(self, ref: str, wait: timedelta, *, since: float | None = None) -> bool:
        """Wait until the guest reports the end, or dies, or the time is over. Return whether it reported the end."""
        following = await self._engine.call(self._follow, ref, since)
        reading = self._engine.submit(following.read_to_end)
        reading.add_done_callback(lambda _: following.close())
        try:
            await asyncio.wait([reading], timeout=wait.total_seconds())
        finally:
            following.stop()
        return following.has_ended

    def _follow(self, ref: str, since: float | None) -> records.Following:
        self._find(ref)
        with self._existing(ref):
            return records.Following(self._engine.api(), ref, since=since)

    def _owned(self, owner: str) -> Sequence[str]:
        found = self._engine.api().containers(all=True, filters={"label": f"{container.OWNER}={owner}"})
        return sorted(entry["Names"][0].removeprefix("/") for entry in found if entry["Names"])

    def _destroy(self, ref: str) -> None:
        self._find(ref)
        api = self._engine.api()
        with contextlib.suppress(NotFound):
            try:
                api.remove_container(ref, force=True, v=True)
            except APIError as error:
                if error.status_code != _CONFLICT:
                    raise
                # Another call is removing it.
                api.wait(ref, condition="removed")
