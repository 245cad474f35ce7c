"""Several tries of one kind in one go, none of which may succeed, and all of which must where there is no wall."""

import os
from collections.abc import Collection

from omoi_os.conformance import expect
from omoi_os.providers.conformance import Bench
from tests.providers.weak import is_bare


class Harmless(Exception):
    """A try came to nothing where nothing stops it, so that it says nothing elsewhere."""


def expect_none(
    bench: Bench, tried: Collection[str], succeeded: Collection[str], *, only_root: Collection[str] = ()
) -> None:
    """Raise `Failed` if any try succeeded, and `Harmless` if there is no wall and one did not.

    Where only root succeeds, an ordinary user's failure proves nothing.
    """
    harmless = sorted(set(tried) - set(succeeded) - set(() if os.geteuid() == 0 else only_root))
    if is_bare(bench) and harmless:
        raise Harmless(f"without walls these came to nothing: {', '.join(harmless)}")
    expect(not succeeded, f"these succeeded: {', '.join(sorted(succeeded))}")
