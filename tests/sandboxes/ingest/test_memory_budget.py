"""How much memory posts may take: bounded for all, and for each, and never too little for one."""

import pytest

from omoi_os.errors import NotReady, TooMany
from omoi_os.sandboxes.ingest.memory_budget import BYTE_BYTES, REQUEST_BYTES, Room

KIB = 1024


def test_what_is_given_back_can_be_taken_again() -> None:
    room = Room(limit=4 * REQUEST_BYTES, each=2 * REQUEST_BYTES)
    for _ in range(10):
        with room.place("a"), room.place("a"), room.place("b"), room.place("b"):
            with pytest.raises(NotReady), room.place("c"):
                pass


def test_one_sandbox_cannot_take_it_all() -> None:
    room = Room(limit=4 * REQUEST_BYTES, each=2 * REQUEST_BYTES)
    with room.place("a"), room.place("a"):
        with pytest.raises(TooMany), room.place("a"):
            pass
        with room.place("b"):
            pass


def test_a_body_counts_as_it_comes_and_one_post_always_fits() -> None:
    room = Room(limit=100 * KIB, each=100 * KIB)
    with room.place("a") as large:
        for _ in range(10):
            large.take_body(100 * KIB)
        with pytest.raises(NotReady), room.place("b"):
            pass
    with room.place("b") as first, room.place("c") as second:
        first.take_body(60 * KIB // BYTE_BYTES)
        with pytest.raises(NotReady):
            second.take_body(60 * KIB // BYTE_BYTES)
