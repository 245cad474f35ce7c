"""The client of the Docker engine, off the event loop, with its errors translated to ours."""

import asyncio
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import docker
from docker.constants import DEFAULT_UNIX_SOCKET
from docker.errors import APIError, DockerException, ImageNotFound
from docker.utils import kwargs_from_env
from requests.exceptions import RequestException

from omoi_os.errors import ProviderError, ProviderUnavailable

#: How long the engine may take to answer one call.
CALL_SECONDS = 60

#: Concurrent calls; most of them wait for a command or for the end of a sandbox.
MAX_CALLS = 512

T = TypeVar("T")


class Engine:
    """One engine. It is connected on first use, so a missing engine is reported then."""

    def __init__(self, host: str | None) -> None:
        self._host = host
        self._client: docker.DockerClient | None = None
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(MAX_CALLS, thread_name_prefix="docker")

    def api(self) -> docker.APIClient:
        """Return the client of the engine's API. Raises `ProviderUnavailable`."""
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client.api

    def submit(self, function: Callable[..., T], *arguments: Any) -> "asyncio.Future[T]":
        """Run a function that calls the engine in a thread, and translate its errors."""
        return asyncio.get_running_loop().run_in_executor(self._threads, _translated, function, *arguments)

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run such a function and return its result."""
        return await self.submit(function, *arguments)

    def close(self) -> None:
        """Close the connection."""
        self._threads.shutdown(wait=False)
        if self._client is not None:
            self._client.close()

    def _connect(self) -> docker.DockerClient:
        given = {"base_url": self._host} if self._host else kwargs_from_env()
        address = str(given.setdefault("base_url", DEFAULT_UNIX_SOCKET))
        try:
            _try_to_connect(address)
            return docker.DockerClient(**given, version="auto", timeout=CALL_SECONDS, max_pool_size=MAX_CALLS)
        except (DockerException, RequestException, OSError) as error:
            raise ProviderUnavailable(
                f"The Docker engine does not answer at {address} ({_reason(error)}). Start it, set DOCKER_HOST, "
                "or let this user access its socket (group docker)."
            ) from None


def _try_to_connect(address: str) -> None:
    """Connect once: the client does not close a connection that failed."""
    if "unix://" in address:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect("/" + address.partition("unix://")[2].lstrip("/"))


def _translated(function: Callable[..., T], *arguments: Any) -> T:
    try:
        return function(*arguments)
    except ImageNotFound as error:
        raise ProviderError(
            f"The image of the sandbox is missing ({_reason(error)}). Build it with `make image`."
        ) from None
    except APIError as error:
        raise ProviderError(f"The Docker engine refused the call: {_reason(error)}.") from error
    except (DockerException, RequestException, ConnectionError) as error:
        raise ProviderUnavailable(f"The Docker engine does not answer: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    text = getattr(error, "explanation", None) or str(error)
    return " ".join(str(text).split())[:500].rstrip(".")
