"""An orchestrator's parts on a real database."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omoi_os.bus.memory import MemoryBus
from omoi_os.config import load_settings
from omoi_os.db.base import Sessions
from omoi_os.masking import Masker
from omoi_os.orchestrator.context import Context
from omoi_os.orchestrator.provider_cache import Providers

MakeContext = Callable[..., Context]


@pytest.fixture
def make_context(sessions: Sessions, short_tmp: Path) -> MakeContext:
    def make(owner: int = 1, **parameters: Any) -> Context:
        settings = load_settings(environ={}, data_dir=short_tmp, **parameters)
        return Context(settings, sessions, MemoryBus(), Providers(settings), Masker(), owner, "installation")

    return make
