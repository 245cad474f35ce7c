"""The page at `/docs`: renders `/openapi.json` without other files, so that it works offline."""

import base64
import hashlib
import re
from pathlib import Path

from fastapi import APIRouter
from starlette.responses import HTMLResponse

PAGE = (Path(__file__).parent / "docs.html").read_text()


def _hash_of(tag: str) -> str:
    """Return the hash that allows exactly this inline script or style."""
    found = re.search(rf"<{tag}>(.*?)</{tag}>", PAGE, re.DOTALL)
    content = found.group(1) if found else ""
    return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; connect-src 'self'; img-src data:; script-src 'sha256-{_hash_of('script')}'; "
        f"style-src 'sha256-{_hash_of('style')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def show_docs() -> HTMLResponse:
    """Return the page."""
    return HTMLResponse(PAGE, headers=HEADERS)
