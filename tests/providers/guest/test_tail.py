"""Keeping both ends of an output."""

import pytest

from omoi_os.providers.guest.tail import Tail


@pytest.mark.parametrize(
    ("chunks", "kept", "truncated"),
    [
        ([], b"", False),
        ([b"abc", b"def"], b"abcdef", False),
        ([b"abcdefgh"], b"abcdefgh", False),
        ([b"abcdefghi"], b"abcdfghi", True),
        ([b"ab"] * 50 + [b"wxyz"], b"ababwxyz", True),
    ],
)
def test_the_first_and_the_last_bytes_are_kept(chunks: list[bytes], kept: bytes, truncated: bool) -> None:
    tail = Tail(4)
    for chunk in chunks:
        tail.add(chunk)

    assert (tail.kept(), tail.truncated) == (kept, truncated)
