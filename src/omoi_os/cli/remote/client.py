"""A small client of the public API that rides out a restart of the platform."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any, Self

import httpx

from omoi_os.errors import BadToken, NotFound, NotReady, OmoiError

#: How long a platform that does not answer is waited for.
PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 0.25
#: What is answered for a platform that will be back.
_AWAY = (502, 503, 504)


class Client:
    """Calls `/api/v1` with a token. Failures are `OmoiError` with the API's own sentence."""

    def __init__(self, url: str, token: str | None, *, patience: float = PATIENCE_SECONDS) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.url = url.rstrip("/")
        self._patience = patience
        # A proxy that the environment names cannot reach this machine's own loopback.
        self._http = httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=30 if patience else 5,
            trust_env=not _is_loopback(httpx.URL(self.url).host),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        """One resource."""
        return self._call("GET", path, params=query)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create something, once, however often the call has to be repeated."""
        return self._call("POST", path, json=body, headers={"Idempotency-Key": str(uuid.uuid4())})

    def delete(self, path: str) -> dict[str, Any]:
        """End something; what is shown of it afterwards."""
        return self._call("DELETE", path)

    @contextmanager
    def stream(self, path: str, *, silence: float = 30, **query: Any) -> Iterator[Iterator[bytes]]:
        """What comes, once and without patience. `httpx.TransportError` when it breaks off or is silent for so long."""
        with self._http.stream("GET", path, params=query, timeout=httpx.Timeout(5, read=silence)) as answer:
            if answer.status_code in _AWAY:
                raise NotReady(f"{self.url} answers {answer.status_code}")
            if not answer.is_success:
                answer.read()
                _body(answer)
            yield answer.iter_bytes()

    def size(self, path: str) -> int:
        """How many bytes a document has; it is read and not kept."""
        try:
            with self.stream(path) as chunks:
                return sum(map(len, chunks))
        except httpx.TransportError as error:
            raise NotReady(f"{self.url} broke off ({str(error) or type(error).__name__}); try again") from error

    def items(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Every item of a paged list."""
        cursor: str | None = None
        while True:
            page = self.get(path, **query, **({"cursor": cursor} if cursor else {}))
            try:
                found, cursor = page["items"], page["next_cursor"]
            except KeyError:
                raise _stranger(f"{self.url}{path}") from None
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
                raise NotReady(f"{self.url} does not answer ({answer}); start the platform with `make run`")
            time.sleep(_POLL_SECONDS)

    def _try(self, method: str, path: str, **options: Any) -> httpx.Response | str:
        """The answer, or why it is worth asking again."""
        try:
            answer = self._http.request(method, path, **options)
        except httpx.TransportError as error:
            return str(error) or type(error).__name__
        return f"{answer.status_code} {answer.reason_phrase}" if answer.status_code in _AWAY else answer


def _is_loopback(host: str) -> bool:
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
        raise BadToken(f"{answer.url.host} port {answer.url.port} refuses the token; give the one of its data folder")
    if not answer.is_success:
        detail = body.get("detail") or body.get("title") if isinstance(body, dict) else None
        kind = NotFound if answer.status_code == httpx.codes.NOT_FOUND else OmoiError
        raise kind(f"{answer.request.method} {answer.url.path} answered {answer.status_code}: {detail or 'no reason'}")
    if not isinstance(body, dict):
        raise _stranger(str(answer.url))
    return body


def _stranger(url: str) -> OmoiError:
    return OmoiError(f"{url} does not answer as OmoiOS does; is another program listening there?")
