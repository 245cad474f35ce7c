"""A built page in a folder, served by the real application."""

import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from omoi_os.web.pages import Pages
from tests.api.conftest import ada, app, bus, calling, settings

__all__ = ["ada", "app", "bus", "settings"]

INDEX = b"""<!doctype html><html><head><script>document.documentElement.dataset.theme = "dark"</script>
<script type="module" crossorigin src="/assets/index-abc.js"></script></head><body><div id="root"></div></body></html>
"""
SCRIPT = b"export const answer = 42;\n" * 100


@pytest.fixture
def static(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_bytes(INDEX)
    (folder / "favicon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (folder / "assets" / "index-abc.js").write_bytes(SCRIPT)
    (folder / "assets" / "index-abc.js.gz").write_bytes(gzip.compress(SCRIPT))
    (folder / "assets" / "index-abc.css").write_text("body { margin: 0 }")
    (folder / ".stamp").write_text("{}")
    return folder


@pytest.fixture
async def visitor(app: FastAPI, static: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that is not signed in."""
    pages = app.router.default
    assert isinstance(pages, Pages)
    app.router.default = Pages(pages.otherwise, static)
    async with calling(app, base="http://omoi") as client:
        yield client
