"""Which page a browser's request comes from: a browser sends our cookie along with requests of other pages, too."""

from collections.abc import Mapping

from omoi_os.errors import Forbidden

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def check_origin(headers: Mapping[str, str]) -> None:
    """`Forbidden` for a page of another site: a browser names it."""
    origin = headers.get("origin")
    if origin is not None and not _is_ours(origin, headers.get("host", "")):
        raise Forbidden("this request comes from a page of another site; use this server's own page")


def check_own_page(method: str, headers: Mapping[str, str]) -> None:
    """`Forbidden` for a request with our cookie that this server's own page, or the address bar, did not make.

    A neighbour on another port is the same site to a browser, so `SameSite` does not keep its requests out.
    """
    check_origin(headers)
    site = headers.get("sec-fetch-site")
    if site not in (None, "same-origin", "none"):
        raise Forbidden("this request comes from a page of another site; use this server's own page")
    if method not in _SAFE and "origin" not in headers and site != "same-origin":
        raise Forbidden("a change by a signed-in browser must name its page in Origin; other programs send a token")


def _is_ours(origin: str, host: str) -> bool:
    scheme, _, named = origin.partition("://")
    port = _DEFAULT_PORTS.get(scheme, "")
    return bool(named) and named.lower().removesuffix(port) == host.lower().removesuffix(port)
