"""A small client of the public API that retries while the platform restarts."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any, Self

import httpx

from omoi_os.errors import BadToken, NotFound, NotReady, OmoiError

#: How long to retry when the platform does not answer.
PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 0.25
#: Statuses of a platform that is temporarily unavailable.
_UNAVAILABLE = (502, 503, 504)


class Client:
    """Calls the API with a token. Raises `OmoiError` with the message of the API."""

    def __init__(self, url: str, token: str | None, *, patience: float = PATIENCE_SECONDS) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.url = url.rstrip("/")
        self._patience = patience
        # A configured proxy cannot reach the loopback address of this machine.
        self._http = httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=30 if patience else 5,
            trust_env=not is_loopback(self.url),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """Get one resource."""
        return self._call("GET", path, params=query)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create something. Retries do not create it twice."""
        return self._call("POST", path, json=body, headers={"Idempotency-Key": str(uuid.uuid4())})

    def delete(self, path: str) -> dict[str, Any]:
        """Delete something and return the API's answer."""
        return self._call("DELETE", path)

    @contextmanager
    def stream(self, path: str, *, silence: float = 30, **query: Any) -> Iterator[Iterator[bytes]]:
        """Stream an answer without retries. Raises `httpx.TransportError` when it breaks or is silent for too long."""
        with self._http.stream("GET", path, params=query, timeout=httpx.Timeout(5, read=silence)) as answer:
            if answer.status_code in _UNAVAILABLE:
                raise NotReady(f"{self.url} answers {answer.status_code}")
            if not answer.is_success:
                answer.read()
                _body(answer)
            yield answer.iter_bytes()

    def size(self, path: str) -> int:
        """Return the size of a document in bytes, reading all of it."""
        try:
            with self.stream(path) as chunks:
                return sum(map(len, chunks))
        except httpx.TransportError as error:
            raise NotReady(
                f"{self.url} closed the connection ({str(error) or type(error).__name__}); try again"
            ) from error

    def items(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield every item of a paged list."""
        cursor: str | None = None
        while True:
            page = self.get(path, **query, **({"cursor": cursor} if cursor else {}))
            try:
                found, cursor = page["items"], page["next_cursor"]
            except KeyError:
                raise _not_omoi(f"{self.url}{path}") from None
            yield from found
            if cursor is None:
                return

    def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        deadline = time.monotonic() + self._patience
        while True:
            answer = self._try(method, path, **options)
            if isinstance(answer, httpx.Response):
                return _body(answer)
            if time.monotonic() > deadline:
                raise NotReady(f"{self.url} does not answer ({answer}); start the platform with `omoi serve`")
            time.sleep(_POLL_SECONDS)

    def _try(self, method: str, path: str, **options: Any) -> httpx.Response | str:
        """Return the response, or why the call should be retried."""
        try:
            answer = self._http.request(method, path, **options)
        except httpx.TransportError as error:
            return str(error) or type(error).__name__
        return f"{answer.status_code} {answer.reason_phrase}" if answer.status_code in _UNAVAILABLE else answer


def is_loopback(url: str) -> bool:
    """Return whether a URL leads to this machine."""
    host = httpx.URL(url).host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _body(answer: httpx.Response) -> dict[str, Any]:
    try:
        body = answer.json()
    except ValueError:
        body = None
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        raise BadToken(
            f"{answer.url.host}:{answer.url.port} refused the token; set OMOI_DATA_DIR or OMOI_ADMIN_TOKEN to its own"
        )
    if not answer.is_success:
        detail = (body.get("detail") or body.get("title") if isinstance(body, dict) else None) or "no reason given"
        kind = NotFound if answer.status_code == httpx.codes.NOT_FOUND else OmoiError
        raise kind(f"{answer.request.method} {answer.url.path} answered {answer.status_code}: {detail}")
    if answer.status_code == httpx.codes.NO_CONTENT:
        return {}
    if not isinstance(body, dict):
        raise _not_omoi(str(answer.url))
    return body


def _not_omoi(url: str) -> OmoiError:
    return OmoiError(f"{url} is not an OmoiOS API; is another program listening there?")
