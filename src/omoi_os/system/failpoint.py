"""Points at which a process may be told to die, so that tests can hit the moments that matter."""

import os
import signal

#: `FAIL=name:7` kills the process when it comes to that point for the seventh time. Nothing but tests sets it.
_NAME, _, _TIMES = os.environ.get("FAIL", "").partition(":")
_left = {_NAME: int(_TIMES or 1)} if _NAME else {}

ARMED = bool(_left)


def reach(name: str) -> None:
    """Die here if it was asked for; without `FAIL` this does nothing."""
    if name in _left:
        _left[name] -= 1
        if _left[name] <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
