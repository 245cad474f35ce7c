"""The whole path through containers: `omoi demo`, as a user runs it, with one setting changed."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
import pytest

from tests.e2e.platform import free_port

pytestmark = pytest.mark.timeout(600)


def is_the_demos(name: str) -> bool:
    """Other tests may use the engine at the same time."""
    return not name.startswith(("omoios-test-", "omoios-check-", "not-ours-"))


@contextmanager
def names_of_new_containers(engine: docker.DockerClient) -> Iterator[list[str]]:
    """Follow the engine's events as they come, because it keeps only a few."""
    made: list[str] = []
    events: Any = engine.events(filters={"type": "container", "event": "create"}, decode=True)
    hearing = threading.Thread(
        target=lambda: made.extend(event["Actor"]["Attributes"]["name"] for event in iter(events)), daemon=True
    )
    hearing.start()
    try:
        yield made
    finally:
        # Closing it does not end its reader, the end of the connection does.
        events._response.raw._fp.fp.raw._sock.shutdown(socket.SHUT_RDWR)
        hearing.join()
        events._response.close()


def test_the_demo_takes_a_ticket_to_a_verified_branch_in_containers_and_leaves_none(
    host: str, image: str, engine: docker.DockerClient, short_tmp: Path
) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(short_tmp),
        "OMOI_DATA_DIR": str(short_tmp / "data"),
        "OMOI_PORT": str(free_port()),
        "OMOI_MODEL": "scripted",
        "SANDBOX_PROVIDER": "docker",
        "SANDBOX_IMAGE": image,
        "DOCKER_HOST": host,
    }
    command = [sys.executable, "-P", "-m", "omoi_os", "demo"]

    with names_of_new_containers(engine) as made:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)

    log = short_tmp / "data" / "demo.log"
    assert done.returncode == 0, done.stdout + done.stderr + (log.read_text() if log.exists() else "")
    # One to work in and one to verify in.
    assert len([name for name in made if is_the_demos(name)]) >= 2, made
    assert not [
        container
        for container in engine.containers.list(all=True, ignore_removed=True)
        if is_the_demos(str(container.name))
    ]
