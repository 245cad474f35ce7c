"""The page's one document, with the headers that fit exactly this build of it."""

import base64
import gzip
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

_INLINE_SCRIPT = re.compile(rb"<script(?![^>]*\ssrc\s*=)[^>]*>(.*?)</script>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Document:
    """`index.html` as it was read."""

    content: bytes
    compressed: bytes
    etag: str
    #: The policy that allows this document's own scripts, by their hashes, and no others.
    policy: str
    #: By which a newer one is known.
    version: tuple[int, int]


def read(path: Path) -> Document | None:
    """The document; None when the page was not built."""
    try:
        content = path.read_bytes()
        version = version_of(path)
    except OSError:
        return None
    digest = hashlib.sha256(content).hexdigest()[:32]
    return Document(content, gzip.compress(content, mtime=0), f'"{digest}"', content_policy(content), version)


def version_of(path: Path) -> tuple[int, int]:
    """Changes with every build; raises `OSError` when there is none."""
    status = os.stat(path)  # noqa: PTH116  one call on every request for the document
    return status.st_mtime_ns, status.st_size


def content_policy(content: bytes) -> str:
    """Everything comes from this server; what agents write can run nothing, whatever way it finds into the page."""
    hashes = [base64.b64encode(hashlib.sha256(script).digest()).decode() for script in _INLINE_SCRIPT.findall(content)]
    scripts = " ".join(["'self'", *(f"'sha256-{found}'" for found in hashes)])
    return (
        f"default-src 'self'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    )
