"""Sandboxes as containers of a Docker engine, each held by a small program of ours inside it."""

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
from omoi_os.providers.docker.attached import Conversation
from omoi_os.providers.docker.engine import Engine
from omoi_os.providers.image import IMAGE_RUNTIME

#: What `make image` makes.
DEFAULT_IMAGE = "omoi-sandbox"

START_SECONDS = 60.0

#: How much later than its processes die a sandbox's end may be told.
END_MOMENT = timedelta(seconds=2)

_CONFLICT = 409
_GROUP = "control group, by the engine"
_GOING = ("removing", "dead")


class DockerProvider:
    """Makes sandboxes as containers. A sandbox's reference is its id, which is its container's name."""

    name = "docker"
    runtime = IMAGE_RUNTIME
    has_gateway_socket = True
    limits = Limits(memory=_GROUP, cpu=_GROUP, pids=_GROUP, disk="watched twice a second")
    limits_warning: str | None = (
        "No file system limits a sandbox's disk on this engine: its use is looked at twice a second, "
        "and too much of it ends the sandbox."
    )

    def __init__(self, *, image: str = DEFAULT_IMAGE, site: Callable[[], str], host: str | None = None) -> None:
        self._find_site = site
        self._image = image
        self._engine = Engine(host)

    @cached_property
    def site(self) -> str:
        """Where it makes sandboxes. Looked up when it is needed: that gives a new data folder its identity."""
        return self._find_site()

    def check(self) -> None:
        """Raise `SetupError`, with the remedy, if this machine cannot make sandboxes."""
        try:
            self._engine.api().inspect_image(self._image)  # type: ignore[no-untyped-call]
        except NotFound:
            raise SetupError(f"The image {self._image} is missing; make it with `make image`.") from None
        except ProviderError as error:
            raise SetupError(str(error)) from None

    async def close(self) -> None:
        """Let go of the engine; the sandboxes stay."""
        self._engine.close()

    async def create(self, spec: SandboxSpec) -> SandboxRef:
        """Make it and start its first process. An id that exists already raises `ProviderError`;
        a create that fails or is cancelled leaves nothing behind."""
        container.check(spec)
        making = self._engine.submit(self._create, spec)
        try:
            await asyncio.shield(making)
        except asyncio.CancelledError:
            await asyncio.shield(self._undo(making, spec.id))
            raise
        return SandboxRef(spec.id)

    async def exec(
        self, ref: SandboxRef, argv: Sequence[str], *, stdin: bytes = b"", cwd: str | None = None, timeout: timedelta
    ) -> ExecResult:
        """Run a command to its end; what it leaves running is killed then. A non-zero exit is a result, a signal
        is 128 more than its number, a program that cannot be started is 126 or 127."""
        seconds = timeout.total_seconds()
        found = await self._engine.call(self._running, ref)
        env = container.environment_of(found)
        request = commands.run_request(argv, env=env, cwd=cwd, seconds=seconds, given=stdin)
        answer = await self._ask(ref, request, seconds=seconds)
        return commands.result(answer, argv=argv, seconds=seconds)

    async def write_file(self, ref: SandboxRef, path: str, content: bytes) -> None:
        """Write a file inside, making its parents. The path is absolute and under the home or the workspace."""
        request = commands.file_request("write", path, content)
        await self._engine.call(self._running, ref)
        commands.file_content(await self._ask(ref, request, seconds=commands.FILE_SECONDS), path)

    async def read_file(self, ref: SandboxRef, path: str) -> bytes:
        """Read a file from inside, also after the sandbox ended. Raises `FileNotFoundError`."""
        request = commands.file_request("read", path)
        await self._engine.call(self._running, ref)
        return commands.file_content(await self._ask(ref, request, seconds=commands.FILE_SECONDS), path)

    async def inspect(self, ref: SandboxRef, *, wait: timedelta | None = None) -> SandboxReport:
        """Alive, or how it ended. With `wait`, answer when it ends, or as alive after that long."""
        if wait is not None:
            await self._wait_for_end(ref, wait)
        return await self._engine.call(self._report, ref)

    async def list(self, *, owner: str) -> AsyncIterator[ListedSandbox]:
        """Yield every sandbox of this owner that was not destroyed, alive or ended."""
        for name in await self._engine.call(self._owned, owner):
            yield ListedSandbox(SandboxRef(name), id=name)

    async def destroy(self, ref: SandboxRef) -> None:
        """End it and remove every trace. Destroying what is already gone succeeds."""
        with contextlib.suppress(SandboxGone):
            await self._engine.call(self._destroy, ref)

    def _find(self, ref: str) -> Mapping[str, Any]:
        """What the engine knows about a sandbox. Raises `SandboxGone`, also for a container that is not ours."""
        try:
            found: Mapping[str, Any] = self._engine.api().inspect_container(container.check_name(ref))
        except NotFound:
            raise SandboxGone(f"Sandbox {ref} no longer exists.") from None
        if found["Name"] != f"/{ref}" or container.OWNER not in (found["Config"]["Labels"] or {}):
            raise SandboxGone(f"Sandbox {ref} no longer exists.")
        return found

    @contextlib.contextmanager
    def _existing(self, ref: str) -> Iterator[None]:
        """What the engine no longer finds, or is just removing, is `SandboxGone`."""
        try:
            yield
        except NotFound:
            raise SandboxGone(f"Sandbox {ref} no longer exists.") from None
        except APIError as error:
            if error.status_code == _CONFLICT and self._find(ref)["State"]["Status"] in _GOING:
                raise SandboxGone(f"Sandbox {ref} no longer exists.") from None
            raise

    def _running(self, ref: str) -> Mapping[str, Any]:
        """The same, for a container that runs: one that has ended is started again, without its first process."""
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
                raise ProviderError(f"Sandbox {spec.id} exists already.") from None
            raise
        try:
            self._start(spec)
        except BaseException:
            self._destroy(spec.id)
            raise

    def _start(self, spec: SandboxSpec) -> None:
        """Start the holder and tell it what to run, over its input: nothing of it is to be seen from elsewhere."""
        api = self._engine.api()
        stream = api.attach_socket(spec.id, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        with contextlib.closing(Conversation(stream, seconds=START_SECONDS)) as holder:
            api.start(spec.id)
            holder.ask(commands.start_request(spec))
            for line in holder.lines():
                if line["state"] == "started":
                    return
                if line["state"] == "failed":
                    raise ProviderError(f"Sandbox {spec.id} could not be made: {line['message']}.")
            said = holder.complaint.decode(errors="replace").strip()
            raise ProviderError(f"Sandbox {spec.id} could not be made: {said or 'its holder ended without a word'}")

    async def _undo(self, making: "asyncio.Future[None]", ref: str) -> None:
        """Let a cancelled creation come to its end, which takes no longer than a start, and take it back."""
        await asyncio.wait([making])
        if making.exception() is None:
            await self._engine.call(self._destroy, ref)

    async def _ask(self, ref: str, request: bytes, *, seconds: float) -> commands.Answer:
        """What the runner inside answers. When the caller no longer waits, the runner ends what it does first."""
        began = time.time()
        talk = await self._engine.call(self._start_runner, ref, seconds)
        answering = self._engine.submit(commands.converse, talk, request)
        try:
            answer = await asyncio.shield(answering)
        except asyncio.CancelledError:
            talk.give_up()
            await asyncio.shield(asyncio.wait([answering]))
            raise
        finally:
            if answering.done():
                talk.close()
        if not answer.end:
            await self._explain(ref, answer, began=began)
        return answer

    def _start_runner(self, ref: str, seconds: float) -> Conversation:
        api = self._engine.api()
        with self._existing(ref):
            made = api.exec_create(ref, container.program("runner"), stdin=True)
            stream = api.exec_start(made["Id"], socket=True)
        return Conversation(stream, seconds=seconds + commands.GRACE_SECONDS)

    async def _explain(self, ref: str, answer: commands.Answer, *, began: float) -> None:
        """A runner that did not come to its end was killed, or could not even be started."""
        if answer.complaint:
            raise ProviderError(f"No command can be run in sandbox {ref}: {answer.complaint}.")
        # When the first process ends everything is killed, and that is told a moment later.
        ended = await self._wait_for_end(ref, END_MOMENT, since=began)
        found = await self._engine.call(self._find, ref)
        if ended or not found["State"]["Running"]:
            raise ProviderError(f"Sandbox {ref} ended while the command ran.")
        answer.end = {"word": "exit", "code": commands.KILLED}

    def _report(self, ref: str) -> SandboxReport:
        with self._existing(ref):
            return records.report(self._engine.api(), ref, self._find(ref))

    async def _wait_for_end(self, ref: str, wait: timedelta, *, since: float | None = None) -> bool:
        """Until the holder tells the end, or it dies, or the time is over; whether it told."""
        following = await self._engine.call(self._follow, ref, since)
        reading = self._engine.submit(following.read_to_end)
        reading.add_done_callback(lambda _: following.close())
        try:
            await asyncio.wait([reading], timeout=wait.total_seconds())
        finally:
            following.stop()
        return following.told

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
                # Somebody else is removing it.
                api.wait(ref, condition="removed")
