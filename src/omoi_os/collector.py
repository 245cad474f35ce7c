"""The garbage collector of a process that serves: its pauses are everyone's."""

import gc


def spare_what_stays() -> None:
    """Keep the garbage collector away from what was loaded: it lives on, and a look at all of it stops everyone."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
