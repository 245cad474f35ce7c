"""Ahead: what a waiting worker imports before there is a task: as much of the rest as its 10 MB have room for."""

import contextlib
import json
import pathlib
import selectors
import signal
import socket
import typing
import urllib.parse

from omoi_os.protocol import assignment, events, spool
from omoi_os.worker import paths as places
from omoi_os.worker import processes
from omoi_os.worker.attempt import failures
from omoi_os.worker.startup import environment

__all__ = [
    "assignment",
    "contextlib",
    "environment",
    "events",
    "failures",
    "json",
    "pathlib",
    "places",
    "processes",
    "selectors",
    "signal",
    "socket",
    "spool",
    "typing",
    "urllib",
]
