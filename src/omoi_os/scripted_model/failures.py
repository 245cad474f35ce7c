"""Failures that scripts ask for: their format, and how often each was sent."""

from collections import OrderedDict
from typing import Any

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Failures:
    """How often each step has failed in each conversation. The least recently used are forgotten."""

    def __init__(self, *, limit: int = 10_000) -> None:
        self._counts: OrderedDict[tuple[str, ...], int] = OrderedDict()
        self._limit = limit

    def fail_again(self, key: tuple[str, ...], *, times: int) -> bool:
        """Return whether another failure is due, and count it if so."""
        count = self._counts.pop(key, 0)
        self._counts[key] = min(count + 1, times)
        if len(self._counts) > self._limit:
            self._counts.popitem(last=False)
        return count < times


def error_body(status: int, message: str, *, error_type: str | None = None) -> dict[str, Any]:
    """Return an error in the format of the Messages API."""
    known = _ERROR_TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"type": "error", "error": {"type": error_type or known, "message": message}}
