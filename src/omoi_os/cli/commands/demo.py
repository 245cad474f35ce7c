"""`omoi demo`: run the acceptance case on the running platform, or on one started for it."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from omoi_os.accounts.admin_token import ensure_admin_token
from omoi_os.cli.checks import acceptance
from omoi_os.cli.commands.serve import READY_SECONDS, SALVAGE_SECONDS, omoi
from omoi_os.cli.local import data_folder as folder
from omoi_os.cli.local import port
from omoi_os.cli.output.progress import Progress
from omoi_os.cli.remote.client import Client
from omoi_os.cli.remote.connection import known_key
from omoi_os.config import Settings, load_settings
from omoi_os.errors import BadToken, NotReady, OmoiError, SetupError
from omoi_os.system.children import die_with_parent

LOG = "demo.log"
#: How long the platform may take to stop: the orchestrator's time, and some for the rest.
STOP_SECONDS = SALVAGE_SECONDS + 30


def run(parameters: dict[str, Any]) -> int:
    """Return 0 when the ticket became a verified branch, else 1."""
    settings = load_settings(**parameters)
    signal.signal(signal.SIGTERM, _interrupt)
    with _platform(settings) as keeps_running:
        code = acceptance.run(settings.effective_api_url, ensure_admin_token(settings), sys.stdout)
    if code == 0:
        _print_next_steps(settings, keeps_running=keeps_running)
    return code


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def _platform(settings: Settings) -> Iterator[bool]:
    """Use the platform at the configured address (True), or start one for the time of the block (False)."""
    if _is_running(settings):
        print(f"Using the running platform at {settings.effective_api_url}.", flush=True)
        yield True
        return
    folder.prepare(settings.data_dir)
    log_path = settings.data_dir / LOG
    print(f"Starting a platform for this demo (log: {log_path}).", flush=True)
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            _serve_command(settings),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGTERM),
        )
    try:
        _wait_until_ready(settings, process, log_path)
        yield False
    finally:
        _stop(process)


def _is_running(settings: Settings) -> bool:
    """Return whether our platform answers. Raises `SetupError` when another program does."""
    try:
        with Client(settings.effective_api_url, known_key(settings), patience=0) as client:
            client.get("/health")
            client.get("/api/v1/projects", limit=1)
    except NotReady:
        return False
    except BadToken as error:
        raise SetupError(
            f"the OmoiOS at {settings.effective_api_url} uses another data folder; set OMOI_DATA_DIR to that folder or "
            f"OMOI_ADMIN_TOKEN to its token, or choose another port (OMOI_PORT={port.another(settings.port)})"
        ) from error
    except OmoiError as error:
        raise port.taken(settings) from error
    return True


def _serve_command(settings: Settings) -> list[str]:
    place = ["--data-dir", str(settings.data_dir), "--host", settings.host, "--port", str(settings.port)]
    return [*omoi(), "serve", *place]


def _wait_until_ready(settings: Settings, process: subprocess.Popen[bytes], log_path: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS + 30
    progress = Progress(sys.stdout)
    try:
        while not _is_ready(settings):
            if process.poll() is not None:
                raise SetupError(f"the platform did not start: {_last_error(log_path)}")
            if time.monotonic() > deadline:
                raise SetupError(f"the platform was not ready in time; see {log_path}")
            progress.show("starting the platform")
            time.sleep(0.1)
    finally:
        progress.finish()


def _is_ready(settings: Settings) -> bool:
    try:
        with Client(settings.effective_api_url, None, patience=0) as client:
            client.get("/ready")
    except NotReady:
        return False
    return True


def _last_error(log_path: Path) -> str:
    lines = log_path.read_text(errors="replace").splitlines()
    said = [line.removeprefix("omoi: ") for line in lines if line.startswith("omoi: ")]
    return said[-1] if said else f"see {log_path}"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _print_next_steps(settings: Settings, *, keeps_running: bool) -> None:
    url = settings.effective_api_url
    if keeps_running:
        print(f"\n`omoi sign-in` prints a link that signs your browser in to {url}.")
        other = "Start the platform with ANTHROPIC_API_KEY to use a real one."
    else:
        print(f"\n`make run` starts the platform at {url} and prints a link that signs your browser in.")
        other = "`ANTHROPIC_API_KEY=… make demo` uses a real one."
    if settings.uses_scripted_model:
        print(f"The agent used the scripted model. {other}")
