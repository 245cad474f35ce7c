"""The orchestrator's own health: isolated failures, the health file for `--check`, and warnings for the API."""

import contextlib
import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from omoi_os.health import warnings

if TYPE_CHECKING:
    from omoi_os.orchestrator.context import Context

log = logging.getLogger(__name__)

#: An orchestrator is unhealthy when its turns have failed for this long.
FAILING_SECONDS = 60.0
#: It is also unhealthy when it has not finished a turn for this long beyond its pause.
SILENT_SECONDS = 60.0
#: How often the state is published, and how often the same failure is logged in full.
PUBLISH_SECONDS = 10.0
LOG_SECONDS = 60.0
#: A failure that did not repeat for this long is over.
FORGET_SECONDS = 120.0
#: How many failing items one warning names.
NAMED = 5

TURNS_FAIL, ITEM_FAILS = "orchestrator_failing", "orchestrator_item_failing"


@dataclass(slots=True)
class _Failure:
    since: float
    last: float
    error: str
    logged: float = -LOG_SECONDS


@dataclass(slots=True)
class Health:
    """The failures of one orchestrator, and since when. Times are monotonic."""

    #: Failures by item: a step of a turn, a sandbox, a task or a project.
    _items: dict[str, _Failure] = field(default_factory=dict)
    _turns: _Failure | None = None
    _published_at: float = -PUBLISH_SECONDS
    _warned: set[str] = field(default_factory=set)

    @contextmanager
    def isolated(self, what: str) -> Iterator[None]:
        """Log and publish a failure of one item, and let the caller continue with the others."""
        try:
            yield
        except Exception as error:  # noqa: BLE001
            self._note(what, error)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Run one step of a turn. A failure does not stop the other steps, but the turn counts as failed."""
        try:
            yield
        except Exception as error:  # noqa: BLE001
            self._note(what, error)
            now = time.monotonic()
            words = f"{what}: {_words(error)}"
            since = self._turns.since if self._turns else now
            self._turns = _Failure(since, now, words)

    def turn_ended(self, started: float) -> bool:
        """Return whether every step of the turn that started then succeeded."""
        if self._turns is not None and self._turns.last < started:
            self._turns = None
        return self._turns is None

    def failing_for(self) -> float:
        """Return for how many seconds every turn has failed."""
        return time.monotonic() - self._turns.since if self._turns else 0.0

    def _note(self, what: str, error: Exception) -> None:
        now = time.monotonic()
        known = self._items.get(what)
        if known is None or now - known.last > FORGET_SECONDS:
            known = self._items[what] = _Failure(now, now, "")
        known.last, known.error = now, _words(error)
        if now - known.logged >= LOG_SECONDS:
            known.logged = now
            log.warning("%s failed and is retried; nothing else is affected", what, exc_info=error)

    async def publish(self, context: "Context", *, pause: float) -> None:
        """Write the health file and update this orchestrator's warnings, every `PUBLISH_SECONDS`."""
        now = time.monotonic()
        if now - self._published_at < PUBLISH_SECONDS:
            return
        self._published_at = now
        for what in [what for what, known in self._items.items() if now - known.last > FORGET_SECONDS]:
            del self._items[what]
        _write(context.settings.data_dir, self._complaint(), valid_seconds=pause + PUBLISH_SECONDS + SILENT_SECONDS)
        # The API reports a missing database itself.
        with contextlib.suppress(SQLAlchemyError):
            await self._warn(context)

    def _complaint(self) -> str | None:
        if self._turns is None or self.failing_for() < FAILING_SECONDS:
            return None
        return f"the orchestrator's turns have failed for {self.failing_for():.0f} s ({self._turns.error})"

    def _failing_items(self, context: "Context") -> str | None:
        now = time.monotonic()
        failing = {what: known.error for what, known in self._items.items() if now - known.since >= FAILING_SECONDS}
        failing |= context.jobs.failing(FAILING_SECONDS)
        if not failing:
            return None
        named = "; ".join(f"{what} ({error})" for what, error in list(failing.items())[:NAMED])
        return f"the orchestrator fails repeatedly at: {named}; see its log"

    async def _warn(self, context: "Context") -> None:
        source = f"orchestrator {context.owner}"
        for key, message in ((TURNS_FAIL, self._complaint()), (ITEM_FAILS, self._failing_items(context))):
            if message is None and key not in self._warned:
                continue
            async with context.sessions() as session, session.begin():
                if message is None:
                    await warnings.clear(session, key=key, source=source)
                    self._warned.discard(key)
                else:
                    message = context.masker.mask_text(message)
                    await warnings.report(session, key=key, source=source, message=message, now=context.now())
                    self._warned.add(key)


def _words(error: Exception) -> str:
    said = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def check(data_dir: Path) -> list[str]:
    """Return the problems of the orchestrators in this data folder; empty if at least one runs and all are healthy."""
    found = [complaint for path in _folder(data_dir).glob("orchestrator-*") for complaint in _judge(path)]
    return [complaint for complaint in found if complaint] if found else ["no orchestrator runs in this data folder"]


def _judge(path: Path) -> list[str]:
    """Return one orchestrator's problem, "" if it is healthy; an empty list if it no longer runs."""
    pid = path.name.removeprefix("orchestrator-")
    if not pid.isdigit() or not Path(f"/proc/{pid}").exists():
        return []
    try:
        published = json.loads(path.read_text())
        if time.time() > float(published["valid_until"]):
            return [f"orchestrator {pid} has not finished a turn for a minute"]
        return [str(published["complaint"] or "")]
    except (OSError, ValueError, KeyError, TypeError):
        return [f"orchestrator {pid} has no readable health file"]


def _folder(data_dir: Path) -> Path:
    return data_dir / "health"


def _write(data_dir: Path, complaint: str | None, *, valid_seconds: float) -> None:
    """Write the health file. A full disk must not stop the orchestrator."""
    document = {"complaint": complaint, "valid_until": time.time() + valid_seconds}
    path = _folder(data_dir) / f"orchestrator-{os.getpid()}"
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(document))
        temporary.replace(path)


def forget(data_dir: Path) -> None:
    """Remove the health files of this process and of those that no longer run."""
    for path in _folder(data_dir).glob("orchestrator-*"):
        pid = path.name.removeprefix("orchestrator-")
        if pid == str(os.getpid()) or not Path(f"/proc/{pid}").exists():
            path.unlink(missing_ok=True)
