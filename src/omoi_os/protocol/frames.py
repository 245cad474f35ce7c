"""One frame of the worker's spool: a length, a CRC32 and that many bytes. Imports next to nothing."""

from __future__ import annotations

import struct
import zlib

#: Length of the body in bytes, then its CRC32, both little-endian.
HEADER = struct.Struct("<II")


def frame(body: bytes) -> bytes:
    """Return the frame of a body."""
    return HEADER.pack(len(body), zlib.crc32(body)) + body
