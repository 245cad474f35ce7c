"""Checks that the API's port is free."""

import asyncio
import errno
import os
import socket
import time

from omoi_os.config import Settings
from omoi_os.errors import SetupError

#: How long the API of a killed `omoi serve` may take to release its port.
RELEASE_SECONDS = 10.0


async def check_free(settings: Settings, *, patiently: bool) -> None:
    """Raise `SetupError` when the API cannot listen on the configured address.

    `patiently`: wait a while for the processes of a killed `omoi serve` to release the port.
    """
    deadline = time.monotonic() + (RELEASE_SECONDS if patiently else 0)
    while (problem := await asyncio.to_thread(_try, settings.host, settings.port)) is not None:
        if problem != errno.EADDRINUSE or time.monotonic() >= deadline:
            raise _explain(settings, problem)
        await asyncio.sleep(0.05)


def taken(settings: Settings) -> SetupError:
    """Return the error for a port that another program uses."""
    return SetupError(
        f"port {settings.port} on {settings.host} is in use by another program; "
        f"stop that program or choose another port (OMOI_PORT={another(settings.port)})"
    )


def _try(host: str, port: int) -> int | None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        return errno.EADDRNOTAVAIL
    with socket.socket(family, kind, protocol) as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(address)
            attempt.listen()
        except OSError as error:
            return error.errno
    return None


def _explain(settings: Settings, problem: int) -> SetupError:
    if problem == errno.EADDRINUSE:
        return taken(settings)
    if problem == errno.EACCES:
        return SetupError(f"port {settings.port} requires root; choose a port above 1023 (OMOI_PORT=18000)")
    return SetupError(
        f"the API cannot listen on {settings.host} port {settings.port} ({os.strerror(problem)}); "
        "set OMOI_HOST to an address of this machine, such as 127.0.0.1"
    )


def another(port: int) -> int:
    """Return a port to suggest instead."""
    return port + 1 if port < 65535 else port - 1
