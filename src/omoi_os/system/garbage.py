"""Tune the garbage collector of a server process, whose pauses delay every request."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def spare_what_stays() -> None:
    """Exclude loaded modules from collection: they are never garbage, and scanning them pauses the process."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@contextmanager
def at_rest() -> Iterator[None]:
    """Disable collection while modules are loaded, when nothing becomes garbage and scanning is wasted time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
