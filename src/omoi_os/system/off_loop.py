"""Run computations on large inputs outside the event loop, one at a time, so that other requests do not wait."""

import asyncio
import functools
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

#: Smaller inputs are handled in the event loop, which takes a few milliseconds and less than switching threads.
LARGE = 64 * 1024

#: How long such a computation may hold the interpreter while the event loop waits for it.
_SWITCH_SECONDS = 0.001


@functools.cache
def _executor() -> ThreadPoolExecutor:
    """One thread: a second one would only compete with the first and the event loop for the interpreter."""
    sys.setswitchinterval(min(_SWITCH_SECONDS, sys.getswitchinterval()))
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="off-loop")


async def off_loop(function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Run the function in the thread and return its result. Calls run in the order in which they arrive."""
    call = functools.partial(function, *arguments, **named)
    return await asyncio.get_running_loop().run_in_executor(_executor(), call)
