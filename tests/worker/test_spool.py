"""The spool on disk, and its frames."""

import os
import resource
from pathlib import Path

from omoi_os.protocol.events import Event
from omoi_os.protocol.spool import encode_frame, read_frames
from omoi_os.worker.spool import Spool


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


def test_nothing_after_a_damaged_frame_is_read() -> None:
    frames = [bytearray(encode_frame(said(text, seq=seq))) for seq, text in enumerate(["a", "b", "c"], 1)]
    frames[1][-3] ^= 1

    assert read_frames(b"".join(frames)) == [said("a", seq=1)]


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
    assert {event.event_type for event in batch} == {"agent.error"}
    spool.close()


async def test_a_disk_that_is_full_does_not_silence_the_worker(root: Path) -> None:
    spool = Spool(root / "spool")
    spool.append(said("a"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel refuses to let any file grow, as a full disk does, in the middle of a frame.
    resource.setrlimit(resource.RLIMIT_FSIZE, ((root / "spool").stat().st_size + 10, hard))
    try:
        spool.append(said("b"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    spool.append(said("c"))

    assert [event.event_data["text"] for event in spool.batch(max_events=9, max_bytes=1 << 20)] == ["a", "b", "c"]
    assert len(read_frames((root / "spool").read_bytes())) == 2
    spool.close()
