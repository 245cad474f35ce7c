"""Decide what caused the end of an attempt: the work itself, or the platform and its host."""

import signal

from omoi_os.providers.base import EndReason, SandboxReport
from omoi_os.sandboxes.lifecycle import StopCause
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.lifecycle import EndCause

#: Ends caused by what ran in the sandbox: memory, disk, lifetime.
_OWN_REASONS = (EndReason.OUT_OF_MEMORY, EndReason.DISK_FULL, EndReason.LIFETIME)
#: The worker's exit code after a SIGTERM from outside.
_EXIT_STOPPED = 128 + signal.SIGTERM
#: The `error_type` that a worker reports when it cannot reach the gateway or the API.
_NETWORK = "network"


def of_end(sandbox: Sandbox, report: SandboxReport, *, failure_type: str | None) -> EndCause:
    """Return what ended a work sandbox without a result. `failure_type` is the `error_type` of its last `agent.failed`.

    A sandbox can fake most ends by the platform, for example by killing its own worker. That gains it a bounded
    number of attempts (`tasks.service.MAX_PLATFORM_ENDS`) and no budget, which counts over all attempts.
    """
    if sandbox.stop_cause == StopCause.SILENT:
        # The provider does not report it alive: the machine or the connection failed, not the agent.
        return EndCause.PLATFORM
    if sandbox.stop_cause == StopCause.REAPED:
        # Idle, stuck or too old: the agent used its time.
        return EndCause.WORK
    if sandbox.failure:
        return EndCause.PLATFORM if failure_type == _NETWORK else EndCause.WORK
    if report.reason in _OWN_REASONS:
        return EndCause.WORK
    if report.reason == EndReason.SIGNALLED:
        # A crash of the worker has another signal. SIGKILL without a lack of memory comes from the host.
        killed = report.signal in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        return EndCause.PLATFORM if killed else EndCause.WORK
    if report.reason == EndReason.EXITED:
        return EndCause.PLATFORM if report.exit_code == _EXIT_STOPPED else EndCause.WORK
    # Its supervisor or its machine died, it was destroyed from outside, or it was never created.
    return EndCause.PLATFORM
