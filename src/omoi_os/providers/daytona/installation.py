"""Installing the worker in a sandbox whose snapshot or image does not include it."""

import logging
import shlex
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from daytona import AsyncSandbox, FileUpload, SessionExecuteRequest

import omoi_os
from omoi_os.errors import ProviderError
from omoi_os.providers.base import Runtime
from omoi_os.providers.daytona import guest_calls

log = logging.getLogger(__name__)

#: Downloads take a while: the agent's command-line program alone has 349 MiB.
INSTALL_SECONDS = 1200

_SESSION = "omoi-install"
#: The parts of our package that run inside a sandbox.
_PARTS = ("protocol", "worker")

_FOLDERS = """set -e
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }
for place in "$@"; do
  mkdir -p "$place" 2>/dev/null || true
  if ! [ -w "$place" ]; then as_root mkdir -p "$place"; as_root chown "$(id -u):$(id -g)" "$place"; fi
done"""

_PACKAGES = """set -e
place="$1"; shift
python3 -m venv "$place"
"$place/bin/python" -m pip install --no-input --disable-pip-version-check --progress-bar off "$@" """


async def install(sandbox: AsyncSandbox, runtime: Runtime, *, package_index: str | None) -> None:
    """Install the agent's SDK from the package index and upload our own part, logging the progress."""
    place = str(PurePosixPath(runtime.python).parent.parent)
    log.info("sandbox %s has no worker at %s: installing it", sandbox.name, place)
    made = await sandbox.process.exec(_shell(_FOLDERS, *guest_calls.PLACES, place, runtime.source), timeout=60)
    if made.exit_code != 0:
        raise ProviderError(
            f"Sandbox {sandbox.name} has no writable folder {place} for the worker: {made.result[-300:]}"
        )
    index = ["--index-url", package_index] if package_index else []
    await _follow(sandbox, _shell(_PACKAGES, place, *index, f"claude-agent-sdk=={version('claude-agent-sdk')}"))
    await sandbox.fs.upload_files(_own_files(runtime.source))


async def _follow(sandbox: AsyncSandbox, command: str) -> None:
    """Run a long command and log each line of its output."""
    await sandbox.process.create_session(_SESSION)
    request = SessionExecuteRequest(command=command, run_async=True)
    began = await sandbox.process.execute_session_command(_SESSION, request)
    last: list[str] = []

    def show(text: str) -> None:
        for line in text.splitlines():
            log.info("%s: %s", sandbox.name, line[:200])
            last[:] = [*last[-4:], line[:200]]

    await sandbox.process.get_session_command_logs_async(_SESSION, began.cmd_id, show, show)
    ended = await sandbox.process.get_session_command(_SESSION, began.cmd_id)
    await sandbox.process.delete_session(_SESSION)
    if ended.exit_code != 0:
        raise ProviderError(f"The worker could not be installed in sandbox {sandbox.name}: {' '.join(last)}")


def _shell(script: str, *arguments: str) -> str:
    return shlex.join(["sh", "-c", script, "omoi", *arguments])


def _own_files(source: str) -> list[FileUpload]:
    package = Path(omoi_os.__file__).parent
    found = [package / "__init__.py", *(path for part in _PARTS for path in (package / part).rglob("*.py"))]
    return [
        FileUpload(source=path.read_bytes(), destination=f"{source}/omoi_os/{path.relative_to(package).as_posix()}")
        for path in found
    ]
