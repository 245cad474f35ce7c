"""Checks which page a browser's request comes from: browsers send our cookie with requests of other pages, too."""

from collections.abc import Mapping

from omoi_os.errors import Forbidden

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def check_origin(headers: Mapping[str, str]) -> None:
    """Raise `Forbidden` if the request comes from a page of another site, which browsers name in `Origin`."""
    origin = headers.get("origin")
    if origin is not None and not _is_ours(origin, headers.get("host", "")):
        raise Forbidden("this request comes from a page of another site; use this server's own page")


def check_own_page(method: str, headers: Mapping[str, str]) -> None:
    """Raise `Forbidden` for a request with our cookie unless this server's own page or the address bar made it.

    `SameSite` is not enough: to a browser, a page on another port of this machine is the same site.
    """
    check_origin(headers)
    site = headers.get("sec-fetch-site")
    if site not in (None, "same-origin", "none"):
        raise Forbidden("this request comes from a page of another site; use this server's own page")
    if method not in _SAFE and "origin" not in headers and site != "same-origin":
        raise Forbidden("a change by a signed-in browser needs an Origin header; other programs must send a token")


def _is_ours(origin: str, host: str) -> bool:
    scheme, _, named = origin.partition("://")
    port = _DEFAULT_PORTS.get(scheme, "")
    return bool(named) and named.lower().removesuffix(port) == host.lower().removesuffix(port)
