"""The state of a sandbox, from the engine and from what the guest wrote to the container's log."""

import contextlib
import json
import socket
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from docker import APIClient
from docker.errors import APIError

from omoi_os.providers.base import EndReason, SandboxReport

#: Enough lines for everything that the guest writes after its last start, except the use of the disk.
_LINES = 20

#: A younger container may not be started yet.
_CREATION = timedelta(seconds=90)


def read_log(api: APIClient, ref: str) -> list[dict[str, Any]]:
    """Return the last lines of the guest."""
    return parse(api.logs(ref, stdout=True, stderr=False, tail=_LINES))


def parse(text: bytes) -> list[dict[str, Any]]:
    """Parse the complete lines of the log."""
    return [json.loads(line) for line in text.splitlines() if line.startswith(b"{") and line.endswith(b"}")]


def end_in(said: Iterable[Mapping[str, Any]]) -> SandboxReport | None:
    """Return how the sandbox ended, if the guest reported it."""
    for line in said:
        if line["state"] == "ended":
            return SandboxReport(
                alive=False,
                reason=EndReason(line["reason"]),
                exit_code=line.get("exit_code"),
                signal=line.get("signal"),
                memory_bytes=line.get("memory"),
                disk_bytes=line.get("disk"),
            )
    return None


def report(api: APIClient, ref: str, found: Mapping[str, Any]) -> SandboxReport:
    """Report whether it is alive, or how it ended."""
    said = read_log(api, ref)
    if (ended := end_in(said)) is not None:
        return ended
    state = found["State"]
    if state["Status"] == "created" and _is_young(found):
        return SandboxReport(alive=True)
    if not state["Running"]:
        return SandboxReport(False, EndReason.OUT_OF_MEMORY if state["OOMKilled"] else EndReason.UNKNOWN)
    states = [line["state"] for line in said]
    if states and states[-1] == "up" and not _is_young(found):
        # It was killed, and started again only to salvage the work in it.
        return SandboxReport(False, EndReason.UNKNOWN)
    disk = next((line["disk"] for line in reversed(said) if "disk" in line), None)
    return _usage(api, ref, disk)


def _usage(api: APIClient, ref: str, disk: int | None) -> SandboxReport:
    try:
        stats: dict[str, Any] = api.stats(ref, stream=False, one_shot=True)
    except APIError:
        # It has just ended; the next report says how.
        return SandboxReport(alive=True, disk_bytes=disk)
    processor = stats.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage")
    return SandboxReport(
        alive=True,
        memory_bytes=stats.get("memory_stats", {}).get("usage"),
        cpu_seconds=None if processor is None else processor / 1e9,
        disk_bytes=disk,
        pids=stats.get("pids_stats", {}).get("current"),
    )


def _is_young(found: Mapping[str, Any]) -> bool:
    made = datetime.fromisoformat(found["Created"].split(".")[0].rstrip("Z")).replace(tzinfo=UTC)
    return datetime.now(UTC) - made < _CREATION


class Following:
    """Follow the log. One thread reads it; any thread may call `stop`."""

    def __init__(self, api: APIClient, ref: str, *, since: float | None = None) -> None:
        #: Whether the end was reported.
        self.has_ended = False
        stream = api.logs(ref, stdout=True, stderr=False, tail=_LINES, stream=True, follow=True, since=since)
        # Closing the stream alone leaves the connection open.
        self._response: Any = stream._response  # type: ignore[attr-defined]
        self._stream = stream
        self._socket: socket.socket = self._response.raw._fp.fp.raw._sock

    def read_to_end(self) -> None:
        """Read until the end is reported, or the log ends with its container."""
        said = b""
        for chunk in self._stream:
            *whole, said = (said + chunk).split(b"\n")
            self.has_ended = end_in(parse(b"\n".join(whole))) is not None
            if self.has_ended:
                return

    def stop(self) -> None:
        """Make the reader return."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        self._response.close()
        self._socket.close()
