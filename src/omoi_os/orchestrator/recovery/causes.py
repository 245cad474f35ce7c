"""Who caused the end of an attempt: the work itself, or the platform and the machine it runs on."""

import signal

from omoi_os.providers.base import EndReason, SandboxReport
from omoi_os.sandboxes.lifecycle import StopCause
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import EndCause

#: Ends that follow from what ran inside: its memory, its disk, its time.
_OWN_REASONS = (EndReason.OUT_OF_MEMORY, EndReason.DISK_FULL, EndReason.LIFETIME)
#: What a worker answers a SIGTERM from outside with.
_EXIT_STOPPED = 128 + signal.SIGTERM
#: The failure that a worker reports when it cannot reach the gateway or the API.
_NETWORK = "network"


def of_end(sandbox: Sandbox, report: SandboxReport, *, failure_type: str | None) -> EndCause:
    """Decide who ended a work sandbox without a result. `failure_type` is the `error_type` of its last `agent.failed`.

    A sandbox can feign most ends of the platform, for example by killing its own worker. That gains it a bounded
    number of attempts (`tasks.service.MAX_PLATFORM_ENDS`) and no money: budgets count over all attempts.
    """
    if sandbox.stop_cause == StopCause.SILENT:
        # Its provider does not answer for it: the machine or the connection is gone, not the agent.
        return EndCause.PLATFORM
    if sandbox.stop_cause == StopCause.REAPED:
        # Idle, stuck or too old: the agent had its time.
        return EndCause.WORK
    if sandbox.failure:
        return EndCause.PLATFORM if failure_type == _NETWORK else EndCause.WORK
    if report.reason in _OWN_REASONS:
        return EndCause.WORK
    if report.reason == EndReason.SIGNALLED:
        # A crash of the worker has another signal; SIGKILL without a lack of memory comes from the host.
        killed = report.signal in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        return EndCause.PLATFORM if killed else EndCause.WORK
    if report.reason == EndReason.EXITED:
        return EndCause.PLATFORM if report.exit_code == _EXIT_STOPPED else EndCause.WORK
    # Its supervisor or its machine died, somebody destroyed it, or it was never created.
    return EndCause.PLATFORM
