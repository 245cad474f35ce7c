"""Large values that wait on disk, or in memory while the disk is full."""

from hashlib import sha256
from pathlib import Path

from omoi_os.worker.reporter.blobs import Blobs


def test_a_value_waits_on_disk_until_it_was_put_also_for_another_worker(root: Path) -> None:
    digest = Blobs(root / "blobs").keep(b"large")
    (root / "blobs" / f"{digest}.7").write_bytes(b"half written")

    blobs = Blobs(root / "blobs")
    assert digest == sha256(b"large").hexdigest()
    assert (blobs.find(digest), blobs.size) == (root / "blobs" / digest, 5)
    blobs.forget(digest)

    assert (blobs.find(digest), blobs.size, list((root / "blobs").iterdir())) == (None, 0, [])


def test_what_the_disk_refuses_is_held_until_there_is_room(root: Path) -> None:
    (root / "blobs").write_text("in the way")
    blobs = Blobs(root / "blobs")
    digest = blobs.keep(b"large") or ""
    assert (blobs.find(digest), blobs.settle(), blobs.size) == (b"large", False, 0)

    (root / "blobs").unlink()

    assert blobs.settle()
    assert (blobs.find(digest), blobs.size) == (root / "blobs" / digest, 5)
