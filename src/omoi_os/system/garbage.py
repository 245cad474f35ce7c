"""The garbage collector of a process that serves: its pauses are everyone's."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def spare_what_stays() -> None:
    """Keep the garbage collector away from what was loaded: it lives on, and a look at all of it stops everyone."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@contextmanager
def at_rest() -> Iterator[None]:
    """While modules are loaded nothing becomes garbage, and looking for it takes an eighth of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
