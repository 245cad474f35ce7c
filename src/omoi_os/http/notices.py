"""Pages of one sentence, for browsers at addresses that have nothing else to show."""

import base64
import hashlib
from html import escape

from starlette.responses import HTMLResponse

_STYLE = """
:root { color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 34rem; margin: 18vh auto 0; padding: 0 1.5rem; }
h1 { font-size: 1.3rem; }
code { font-family: ui-monospace, monospace; padding: .1em .3em; border: 1px solid; border-radius: .3em; }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · OmoiOS</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body><main><h1>{title}</h1>
<p>{sentence}</p>{link}</main></body>
</html>
"""
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; img-src data:; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def notice(status: int, title: str, sentence: str, *, link: tuple[str, str] | None = None) -> HTMLResponse:
    """Return the page. Text between backquotes is shown as a command; `link` is an address and its label."""
    parts = escape(sentence).split("`")
    shown = "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
    linked = f'\n<p><a href="{escape(link[0])}">{escape(link[1])}</a></p>' if link else ""
    return HTMLResponse(
        _PAGE.format(title=escape(title), style=_STYLE, sentence=shown, link=linked),
        status_code=status,
        headers=HEADERS,
    )
