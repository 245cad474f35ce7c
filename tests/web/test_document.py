"""The page's document and the policy that fits it."""

import base64
import gzip
import hashlib
from pathlib import Path

from omoi_os.web import document
from tests.web.conftest import INDEX

SNIPPET = b'document.documentElement.dataset.theme = "dark"'


def allowed(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


def test_the_policy_allows_only_the_document_s_scripts() -> None:
    policy = document.content_policy(INDEX)
    (scripts,) = [part for part in policy.split("; ") if part.startswith("script-src")]

    assert scripts == f"script-src 'self' {allowed(SNIPPET)}"
    for part in ("default-src 'self'", "object-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"):
        assert part in policy.split("; ")
    assert "unsafe-eval" not in policy


def test_scripts_from_files_and_without_any_need_no_hash() -> None:
    assert "sha256" not in document.content_policy(b'<script type="module" src="/a.js"></script>')
    assert "script-src 'self';" in document.content_policy(b"<p>none</p>")


def test_a_document_is_identified_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "index.html"
    assert document.read(path) is None
    path.write_bytes(INDEX)
    first = document.read(path)
    path.write_bytes(INDEX + b" ")
    second = document.read(path)

    assert first is not None
    assert second is not None
    assert gzip.decompress(first.compressed) == first.content == INDEX
    assert first.etag != second.etag
    assert first.version != second.version
