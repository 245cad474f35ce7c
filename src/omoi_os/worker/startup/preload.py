"""What a waiting worker imports before it has a task: as many of the later imports as fit in its 10 MB."""

import contextlib
import json
import pathlib
import selectors
import signal
import socket
import typing
import urllib.parse

from omoi_os.protocol import assignment, events, spool
from omoi_os.worker import paths, processes
from omoi_os.worker.startup import environment

__all__ = [
    "assignment",
    "contextlib",
    "environment",
    "events",
    "json",
    "pathlib",
    "paths",
    "processes",
    "selectors",
    "signal",
    "socket",
    "spool",
    "typing",
    "urllib",
]
