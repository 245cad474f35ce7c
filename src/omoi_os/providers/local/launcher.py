"""Starting a supervisor, detached from this process, and hearing whether its sandbox is up."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import omoi_os
from omoi_os.errors import ProviderError, ProviderUnavailable
from omoi_os.providers.base import SandboxSpec
from omoi_os.providers.local import cgroups, documents, profile, seccomp

START_SECONDS = 40.0

_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from omoi_os.providers.local.supervisor import main; main()"


def describe(
    spec: SandboxSpec, folder: Path, *, host: profile.Host, bwrap: Path, groups: dict[str, str], uid: int | None
) -> bytes:
    """Everything a supervisor needs to know, the environment included: it goes through a pipe, never to disk."""
    resources = spec.resources
    options = profile.arguments(host, folder, door=spec.door, memory_bytes=resources.memory_bytes)
    return documents.pack(
        {
            "bwrap": [str(bwrap)],
            "profile": options,
            "seccomp": [seccomp.build_filter().hex()],
            "controllers": list(groups),
            "groups": list(groups.values()),
            "limits": [str(resources.memory_bytes), str(resources.cpus), str(resources.pids)],
            "lifetime": [str(spec.lifetime.total_seconds())],
            "uid": [] if uid is None else [str(uid)],
            "argv": list(spec.argv),
            "env": [f"{name}={value}" for name, value in spec.env.items()],
        }
    )


def start(folder: Path, document: bytes, *, lock: int) -> None:
    """Start the supervisor and wait until the sandbox's first process runs. Raises `ProviderError` if it does not."""
    source = str(Path(omoi_os.__file__).parent.parent)
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM, source, str(folder), str(lock)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        pass_fds=[lock],
        start_new_session=True,
    ) as starter:
        try:
            answer, _ = starter.communicate(document, timeout=START_SECONDS)
        except subprocess.TimeoutExpired:
            starter.kill()
            raise ProviderUnavailable(f"Sandbox {folder.name} did not start in {START_SECONDS:g} s.") from None
    if answer != b"ready":
        said = answer.decode(errors="replace") or "its supervisor ended without a word"
        raise ProviderError(f"Sandbox {folder.name} could not be made: {said}.")


def groups_for(folder: Path) -> dict[str, str]:
    """The control groups of a sandbox. Their name has its folder in it: another installation may use the same id."""
    digest = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()
    return cgroups.groups_of(cgroups.detect(), f"{folder.name}-{digest[:8]}")


def is_root() -> bool:
    """Whether sandboxes get real uids of their own."""
    return os.geteuid() == 0
