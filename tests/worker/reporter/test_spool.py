"""The spool on disk, and its frames."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from omoi_os.protocol.events import Event
from omoi_os.protocol.spool import encode_frame, read_frames
from omoi_os.worker.reporter.spool import Spool


def said(text: str, *, seq: int | None = None) -> Event:
    return Event("agent.message", {"text": text}, event_id=f"id-{text}", seq=seq, occurred_at="2026-01-01T00:00:00Z")


def seqs(spool: Spool, *, max_events: int = 100, max_bytes: int = 1 << 20) -> list[int | None]:
    return [event.seq for event in spool.batch(max_events=max_events, max_bytes=max_bytes)]


def test_frames_come_back_as_they_were_written() -> None:
    events = [said("one", seq=1), said("zwei ü 😀", seq=2)]

    assert read_frames(b"".join(map(encode_frame, events))) == events


def test_every_torn_tail_is_left_out() -> None:
    whole, torn = encode_frame(said("one", seq=1)), encode_frame(said("two", seq=2))

    for cut in range(len(torn)):
        assert read_frames(whole + torn[:cut]) == [said("one", seq=1)]


def frames_of(*texts: str) -> list[bytearray]:
    return [bytearray(encode_frame(said(text, seq=seq))) for seq, text in enumerate(texts, 1)]


def marks(events: list[Event]) -> list[str]:
    return [event.event_data.get("text") or str(event.event_data["spool_corrupt"]) for event in events]


@pytest.mark.parametrize("place", [0, 2, 5, 8, 9, -3], ids=lambda place: f"byte {place}")
@pytest.mark.parametrize("bit", [1, 64])
@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_a_flipped_bit_costs_its_own_event_and_no_other(damaged: int, place: int, bit: int) -> None:
    frames = frames_of("a", "b", "c", "d")
    frames[damaged][place] ^= bit

    expected = ["a", "b", "c", "d"]
    expected[damaged] = "True"
    events = read_frames(b"".join(frames))
    assert (marks(events), [event.seq for event in events]) == (expected, [1, 2, 3, 4])


def test_a_flipped_bit_in_the_last_event_uses_its_number_up() -> None:
    frames = frames_of("a", "b")
    frames[1][-3] ^= 1

    assert marks(read_frames(b"".join(frames) + encode_frame(said("c", seq=3))[:-1])) == ["a", "True"]


def test_every_number_of_a_damaged_stretch_is_marked() -> None:
    frames = frames_of(*"abcdef")
    for frame in frames[1:4]:
        frame[:] = bytes(len(frame))

    assert marks(read_frames(b"".join(frames))) == ["a", "True", "True", "True", "e", "f"]


def test_numbers_that_cannot_be_true_are_not_believed() -> None:
    sound, high = encode_frame(said("a", seq=1)), encode_frame(said("b", seq=10**15))

    assert marks(read_frames(sound + high)) == ["a", "True"]
    assert marks(read_frames(sound + b"\0" * 10_000)) == ["a"]


def test_what_looks_like_many_long_frames_is_not_read_for_ever() -> None:
    bait = (1 << 20).to_bytes(4, "little") + bytes(4) + b'{"event_type"'

    assert len(read_frames(bait * 100_000)) <= 2


def test_a_huge_length_is_damage_and_not_an_allocation() -> None:
    assert read_frames(b"\xff" * 64) == []


async def test_numbers_are_dense_and_the_file_can_be_read_from_outside(root: Path) -> None:
    spool = Spool(root / "spool")

    assert [spool.append(said(text)) for text in "abc"] == [1, 2, 3]
    assert [event.seq for event in read_frames((root / "spool").read_bytes())] == [1, 2, 3]
    spool.close()


async def test_a_reopened_spool_drops_its_torn_tail_and_counts_on(root: Path) -> None:
    spool = Spool(root / "spool")
    spool.append(said("a"))
    spool.append(said("b"))
    spool.close()
    os.truncate(root / "spool", (root / "spool").stat().st_size - 1)

    spool = Spool(root / "spool")
    assert spool.append(said("c")) == 2
    assert [event.event_data["text"] for event in spool.batch(max_events=9, max_bytes=1 << 20)] == ["a", "c"]
    spool.close()


async def test_a_batch_is_bounded_in_events_and_bytes_but_never_empty(root: Path) -> None:
    spool = Spool(root / "spool")
    for _ in range(5):
        spool.append(said("x" * 1000))

    assert seqs(spool, max_events=3) == [1, 2, 3]
    assert seqs(spool, max_bytes=5000) == [1, 2]
    assert seqs(spool, max_bytes=1) == [1]
    spool.close()


async def test_what_is_acknowledged_is_not_sent_again_unless_the_server_asks(root: Path) -> None:
    spool = Spool(root / "spool")
    for text in "abc":
        spool.append(said(text))

    spool.acknowledge(2)
    assert (seqs(spool), spool.waiting) == ([3], 1)
    spool.acknowledge(0)
    assert seqs(spool) == [1, 2, 3]
    spool.acknowledge(99)
    assert (seqs(spool), spool.waiting) == ([], 0)
    spool.close()


async def test_a_spool_that_was_tampered_with_still_has_every_number(root: Path) -> None:
    spool = Spool(root / "spool")
    for text in "abc":
        spool.append(said(text))
    (root / "spool").write_bytes(b"")

    batch = spool.batch(max_events=9, max_bytes=1 << 20)
    assert [event.seq for event in batch] == [1, 2, 3]
    assert [event.event_type for event in batch] == ["agent.error"] * 3
    assert marks(batch) == ["True"] * 3
    spool.close()


@contextmanager
def full_disk(path: Path, *, room: int = 0) -> Iterator[None]:
    """The kernel refuses to let any file grow beyond the size of this one, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_reopened_spool_marks_what_is_damaged_and_counts_on(root: Path) -> None:
    frames = frames_of("a", "b", "c")
    frames[1][-3] ^= 1
    (root / "spool").write_bytes(b"".join(frames))

    for _ in range(2):
        spool = Spool(root / "spool")
        assert marks(spool.batch(max_events=9, max_bytes=1 << 20)) == ["a", "True", "c"]
        assert spool.last == 3
        spool.close()


async def test_a_disk_that_is_full_does_not_silence_the_worker(root: Path) -> None:
    spool = Spool(root / "spool")
    spool.append(said("a"))
    # In the middle of a frame.
    with full_disk(root / "spool", room=10):
        spool.append(said("b"))
        spool.append(said("c"))
        assert marks(spool.batch(max_events=9, max_bytes=1 << 20)) == ["a", "b", "c"]
        assert marks(read_frames((root / "spool").read_bytes())) == ["a"]
        assert not spool.settle()
    spool.append(said("d"))

    assert marks(read_frames((root / "spool").read_bytes())) == ["a", "b", "c", "d"]
    spool.close()


async def test_what_is_acknowledged_can_be_forgotten_and_the_numbers_go_on(root: Path) -> None:
    spool = Spool(root / "spool")
    for _ in range(100):
        spool.append(said("x" * 1000))
    spool.acknowledge(99)
    spool.forget()
    assert spool.size > 100_000

    spool.acknowledge(100)
    spool.forget()
    assert (spool.size < 200, spool.last, seqs(spool)) == (True, 100, [])
    spool.append(said("next"))
    spool.acknowledge(0)
    assert seqs(spool) == [101]
    spool.close()

    spool = Spool(root / "spool")
    assert (seqs(spool), spool.append(said("after"))) == ([101], 102)
    assert [event.seq for event in read_frames((root / "spool").read_bytes())] == [101, 102]
    spool.close()


async def test_a_kill_in_the_middle_of_forgetting_keeps_the_number(root: Path) -> None:
    spool = Spool(root / "spool")
    for _ in range(20):
        spool.append(said("x" * 100))
    before = (root / "spool").read_bytes()
    spool.acknowledge(20)
    spool.forget()
    spool.close()
    mark = (root / "spool").read_bytes()

    (root / "spool").write_bytes(mark + before[len(mark) :])
    spool = Spool(root / "spool")

    assert (spool.last, seqs(spool), spool.size) == (20, [], len(mark))
    spool.close()


async def test_forgetting_needs_no_room_and_frees_what_was_held_in_memory(root: Path) -> None:
    spool = Spool(root / "spool")
    spool.append(said("a" * 1000))
    with full_disk(root / "spool"):
        spool.append(said("b"))
        spool.acknowledge(2)
        spool.forget()
        assert spool.settle()
        assert spool.append(said("c")) == 3

    assert marks(read_frames((root / "spool").read_bytes())) == ["c"]
    spool.close()


async def test_a_disk_that_was_full_from_the_beginning_loses_no_number(root: Path) -> None:
    spool = Spool(root / "spool")
    with full_disk(root / "spool"):
        spool.append(said("a"))
        spool.acknowledge(1)
        spool.forget()
        spool.append(said("b"))
        assert (seqs(spool), spool.settle()) == ([2], False)
    assert spool.settle()
    spool.close()

    spool = Spool(root / "spool")
    assert (seqs(spool), spool.last) == ([2], 2)
    spool.close()
