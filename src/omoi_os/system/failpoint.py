"""Failpoints: places at which tests can make a process die."""

import os
import signal

#: `FAIL=name:7` kills the process when it reaches that point for the seventh time. Only tests set it.
_NAME, _, _TIMES = os.environ.get("FAIL", "").partition(":")
_left = {_NAME: int(_TIMES or 1)} if _NAME else {}

ARMED = bool(_left)


def reach(name: str) -> None:
    """Kill this process if `FAIL` names this point; otherwise do nothing."""
    if name in _left:
        _left[name] -= 1
        if _left[name] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
