"""The requests to the guest in a container, and what its answers mean."""

import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from omoi_os.errors import ProviderError
from omoi_os.protocol import paths
from omoi_os.providers.base import ExecResult, SandboxSpec
from omoi_os.providers.docker.streams import GuestStream
from omoi_os.providers.guest import files, wire
from omoi_os.providers.guest.tail import Tail
from omoi_os.providers.local.host import seccomp

#: How much of each output is kept, from its beginning and from its end.
OUTPUT_BYTES = 4 * 1024 * 1024

#: How much later than requested the guest may answer before the engine counts as hung.
GRACE_SECONDS = 30.0

#: How long reading or writing a file may take.
FILE_SECONDS = 60.0

#: The exit code of a command that was killed together with its guest.
KILLED = 137


@dataclass(slots=True)
class Answer:
    """The answer of a guest. Without an end it was killed."""

    stdout: Tail = field(default_factory=lambda: Tail(OUTPUT_BYTES))
    stderr: Tail = field(default_factory=lambda: Tail(OUTPUT_BYTES))
    content: bytearray = field(default_factory=bytearray)
    end: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""


def start_request(spec: SandboxSpec) -> bytes:
    """Return the request that starts the first process."""
    fields = {"seconds": spec.lifetime.total_seconds(), "disk": spec.resources.disk_bytes}
    return _pack({**fields, **_program(spec.argv, env=spec.env, cwd=paths.WORKSPACE)})


def run_request(argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None, seconds: float, given: bytes) -> bytes:
    """Return the request to run a command. Raises `ProviderError` for an empty command or a zero byte."""
    if not argv or any("\0" in text for text in (*argv, cwd or "")):
        raise ProviderError("A command must have at least one word, and no word may contain a zero byte.")
    program = _program(argv, env=env, cwd=cwd or paths.WORKSPACE)
    return _pack({"do": "run", "seconds": seconds, **program}, given)


def file_request(do: str, path: str, given: bytes = b"") -> bytes:
    """Return the request to read or write a file. Raises `ProviderError` unless it is below home or workspace."""
    if len(given) > files.MAX_BYTES:
        raise ProviderError(f"The content for {path} is larger than {files.MAX_BYTES} bytes.")
    try:
        base, parts = files.locate(path, (paths.HOME, paths.WORKSPACE))
    except ValueError as error:
        raise ProviderError(f"{error}.") from None
    return _pack({"do": do, "base": base, "parts": parts}, given)


def exchange(stream: GuestStream, request: bytes) -> Answer:
    """Send a request and receive the answer, of any length."""
    answer = Answer()
    stream.send(request)
    for kind, content in stream.frames():
        if kind == wire.STDOUT:
            answer.stdout.add(content)
        elif kind == wire.STDERR:
            answer.stderr.add(content)
        elif kind == wire.CONTENT and len(answer.content) <= files.MAX_BYTES:
            answer.content += content
        elif kind == wire.END:
            answer.end = wire.decode(content)
    answer.message = " ".join(stream.message.decode(errors="replace").split())
    return answer


def result(answer: Answer, *, argv: Sequence[str], seconds: float) -> ExecResult:
    """Return how a command ended. Raises `TimeoutError`."""
    word = answer.end["word"]
    if word == "timeout":
        raise TimeoutError(f"{argv[0]} ran longer than {seconds:g} s and was killed with all its processes.")
    if word == "refused":
        return ExecResult(int(answer.end["code"]), b"", f"{answer.end['message']}\n".encode())
    stdout, stderr = answer.stdout.kept(), answer.stderr.kept()
    return ExecResult(int(answer.end["code"]), stdout, stderr, answer.stdout.truncated or answer.stderr.truncated)


def file_content(answer: Answer, path: str) -> bytes:
    """Return what was read. Raises `FileNotFoundError`, and `ProviderError` for every other failure."""
    if answer.end["word"] == "done":
        return bytes(answer.content)
    number = answer.end.get("errno", 0)
    if number == errno.ENOENT:
        raise FileNotFoundError(errno.ENOENT, "no such file in the sandbox", path)
    reason = files.explain(number, answer.end.get("message", "the sandbox ended"))
    raise ProviderError(f"{path} cannot be used: {reason}.")


def _pack(fields: dict[str, Any], given: bytes = b"") -> bytes:
    try:
        return wire.pack_request(fields, given)
    except ValueError as error:
        raise ProviderError(f"The command cannot be run: {error}.") from None


def _program(argv: Sequence[str], *, env: Mapping[str, str], cwd: str) -> dict[str, Any]:
    return {"argv": list(argv), "env": dict(env), "cwd": cwd, "filter": _filter()}


@cache
def _filter() -> str:
    """Return the filter for this machine. Containers run on it, because their gateway socket is on its disk."""
    return seccomp.build_filter().hex()
