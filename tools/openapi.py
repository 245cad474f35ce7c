"""Prints the API's description, for which neither a database nor a running platform is needed."""

import json
import sys
import tempfile
from pathlib import Path

from omoi_os.api.app import make_app
from omoi_os.bus.memory import MemoryBus
from omoi_os.config import load_settings
from omoi_os.db.base import make_engine, make_sessions


def describe() -> str:
    """The text of `openapi.json`; the same for the same source."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(environ={}, config_dir=Path(folder), data_dir=Path(folder))
        app = make_app(settings, make_sessions(make_engine("postgresql://nowhere/none")), MemoryBus())
        return json.dumps(app.openapi(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(describe())
