"""What the holder and the runner inside are asked for, and what their answers mean."""

import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import Any

from omoi_os.errors import ProviderError
from omoi_os.protocol import paths
from omoi_os.providers.base import ExecResult, SandboxSpec
from omoi_os.providers.docker.attached import Conversation
from omoi_os.providers.docker.inside import files, wire
from omoi_os.providers.local.host import seccomp
from omoi_os.providers.local.supervisor.tail import Tail

#: How much of each output is kept, from its beginning and from its end.
OUTPUT_BYTES = 4 * 1024 * 1024

#: How much later than promised a runner may answer before the engine counts as hung.
GRACE_SECONDS = 30.0

#: How long reading or writing a file may take.
FILE_SECONDS = 60.0

#: The exit code of a command that was killed together with its runner.
KILLED = 137


@dataclass(slots=True)
class Answer:
    """All that a runner said. Without an end it was killed."""

    stdout: Tail = field(default_factory=lambda: Tail(OUTPUT_BYTES))
    stderr: Tail = field(default_factory=lambda: Tail(OUTPUT_BYTES))
    content: bytearray = field(default_factory=bytearray)
    end: Mapping[str, Any] = field(default_factory=dict)
    complaint: str = ""


def start_request(spec: SandboxSpec) -> bytes:
    """What the holder needs to know."""
    fields = {"seconds": spec.lifetime.total_seconds(), "disk": spec.resources.disk_bytes}
    return _pack({**fields, **_program(spec.argv, env=spec.env, cwd=paths.WORKSPACE)})


def run_request(argv: Sequence[str], *, env: Mapping[str, str], cwd: str | None, seconds: float, given: bytes) -> bytes:
    """Run a command. Raises `ProviderError` for one that makes no sense."""
    if not argv or any("\0" in text for text in (*argv, cwd or "")):
        raise ProviderError("A command must have at least one word, and no zero byte in any.")
    program = _program(argv, env=env, cwd=cwd or paths.WORKSPACE)
    return _pack({"do": "run", "seconds": seconds, **program}, given)


def file_request(do: str, path: str, given: bytes = b"") -> bytes:
    """Read or write a file. Raises `ProviderError` for a path that is not under the home or the workspace."""
    if len(given) > files.MAX_BYTES:
        raise ProviderError(f"The content for {path} is larger than {files.MAX_BYTES} bytes.")
    for base in (paths.HOME, paths.WORKSPACE):
        if path.startswith(f"{base}/") and "\0" not in path:
            parts = PurePosixPath(path[len(base) + 1 :]).parts
            if parts and parts[0] != "/" and ".." not in parts:
                return _pack({"do": do, "base": base, "parts": parts}, given)
    raise ProviderError(f"{path!r} is not a file's path under {paths.HOME} or {paths.WORKSPACE}.")


def converse(talk: Conversation, request: bytes) -> Answer:
    """Send the request and take in the answer, of any length."""
    answer = Answer()
    talk.ask(request)
    for kind, content in talk.frames():
        if kind == wire.STDOUT:
            answer.stdout.add(content)
        elif kind == wire.STDERR:
            answer.stderr.add(content)
        elif kind == wire.CONTENT and len(answer.content) <= files.MAX_BYTES:
            answer.content += content
        elif kind == wire.END:
            answer.end = wire.decode(content)
    answer.complaint = " ".join(talk.complaint.decode(errors="replace").split())
    return answer


def result(answer: Answer, *, argv: Sequence[str], seconds: float) -> ExecResult:
    """How a command ended. Raises `TimeoutError`."""
    word = answer.end["word"]
    if word == "timeout":
        raise TimeoutError(f"{argv[0]} ran longer than {seconds:g} s and was killed with all that it had started.")
    if word == "refused":
        return ExecResult(int(answer.end["code"]), b"", f"{answer.end['message']}\n".encode())
    stdout, stderr = answer.stdout.kept(), answer.stderr.kept()
    return ExecResult(int(answer.end["code"]), stdout, stderr, answer.stdout.truncated or answer.stderr.truncated)


def file_content(answer: Answer, path: str) -> bytes:
    """What was read. Raises `FileNotFoundError`, and `ProviderError` for everything else that was in the way."""
    if answer.end["word"] == "done":
        return bytes(answer.content)
    number = answer.end.get("errno", 0)
    if number == errno.ENOENT:
        raise FileNotFoundError(errno.ENOENT, "no such file in the sandbox", path)
    linked = number in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)
    reason = "a part of it is a link or not a folder" if linked else answer.end.get("message", "the sandbox ended")
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
    """Containers run on this machine's processor, because the gateway socket is in one of its folders."""
    return seccomp.build_filter().hex()
