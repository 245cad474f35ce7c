"""Serves the web page: its document at every address that is nothing else's, and its assets."""

import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from omoi_os.http.notices import notice
from omoi_os.web import document
from omoi_os.web.document import Document

STATIC = Path(__file__).parent / "static"

SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
#: The build puts a hash of the content into the names of what it writes here.
_FOREVER = "public, max-age=31536000, immutable"
_CHECK = "no-cache"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
_FILE = re.compile(r"/(?:[A-Za-z0-9_-][A-Za-z0-9._-]*/)*[A-Za-z0-9_-][A-Za-z0-9._-]*\.[A-Za-z0-9]+")
#: Not the page's, whatever is asked for below them.
_RESERVED = ("/api", "/docs", "/health", "/metrics", "/openapi.json", "/ready", "/sign-in")
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
_NOT_BUILT = (
    "The web page was not built with this installation. Run `make setup` in a checkout, or install the package without "
    "OMOI_SKIP_WEB; the API works meanwhile."
)


class Pages:
    """Answer requests that no route matched; pass those that are not the page's to `otherwise`."""

    def __init__(self, otherwise: ASGIApp, static: Path = STATIC) -> None:
        self.otherwise = otherwise
        self._static = static
        self._document = document.read(static / "index.html")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or _is_reserved(scope["path"]):
            await self.otherwise(scope, receive, send)
            return
        request = Request(scope, receive)
        is_file = "." in scope["path"].rpartition("/")[2] and scope["path"] != "/index.html"
        answer = self._file(request) if is_file else self._page(request)
        await (answer or self.otherwise)(scope, receive, send)

    def _page(self, request: Request) -> Response:
        shown = self._current()
        if shown is None:
            return notice(503, "Web page not built", _NOT_BUILT, link=("/docs", "Open the API documentation"))
        headers = SECURITY | {
            "Content-Security-Policy": shown.policy,
            "Cache-Control": _CHECK,
            "ETag": shown.etag,
            "Vary": "Accept-Encoding",
        }
        if shown.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" in _accepted(request):
            return Response(shown.compressed, headers=headers | {"Content-Encoding": "gzip"}, media_type="text/html")
        return Response(shown.content, headers=headers, media_type="text/html")

    def _current(self) -> Document | None:
        """The document; a build that was made meanwhile is noticed."""
        path = self._static / "index.html"
        try:
            version = document.version_of(path)
        except OSError:
            return None
        if self._document is None or self._document.version != version:
            self._document = document.read(path)
        return self._document

    def _file(self, request: Request) -> Response | None:
        path = request.scope["path"]
        kind = _TYPES.get(Path(path).suffix)
        if kind is None or not _FILE.fullmatch(path):
            return None
        plain = self._static / path[1:]
        if not plain.is_file():
            return None
        found, encoding = _smallest(plain, _accepted(request))
        mtime, size = document.version_of(found)
        headers = SECURITY | {
            "Cache-Control": _FOREVER if path.startswith("/assets/") else _CHECK,
            "ETag": f'"{mtime:x}-{size:x}"',
            "Vary": "Accept-Encoding",
        }
        if not path.endswith((".js", ".mjs")):
            # A script's own policy would rule the worker that runs it.
            headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if encoding is not None:
            headers["Content-Encoding"] = encoding
        return FileResponse(found, headers=headers, media_type=kind)


def _smallest(plain: Path, accepted: set[str]) -> tuple[Path, str | None]:
    """The file, or what the build has compressed it to, if the client takes that."""
    for encoding, suffix in _ENCODINGS:
        smaller = plain.with_name(plain.name + suffix)
        if encoding in accepted and smaller.is_file():
            return smaller, encoding
    return plain, None


def _is_reserved(path: str) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in _RESERVED)


def _accepted(request: Request) -> set[str]:
    """The encodings that the client takes; one with `q=0` is one that it does not."""
    parts = (part.strip().lower() for part in request.headers.get("accept-encoding", "").split(","))
    return {name.partition(";")[0].strip() for name in parts if not re.search(r";\s*q=0(\.0*)?$", name)}
