"""The API's description without a platform."""

import json
import subprocess
import sys
from pathlib import Path

from fastapi import FastAPI

from tests.api.conftest import app, bus, settings

__all__ = ["app", "bus", "settings"]

TOOL = Path(__file__).parents[2] / "tools" / "openapi.py"


def test_it_prints_the_document_that_a_server_returns(app: FastAPI) -> None:
    printed = subprocess.run([sys.executable, str(TOOL)], capture_output=True, text=True, timeout=120, check=True)

    assert json.loads(printed.stdout) == json.loads(json.dumps(app.openapi()))
    assert printed.stderr == ""
