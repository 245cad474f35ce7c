"""Sandboxes see the program read-only, so its bytecode has to be there before."""

import importlib.util
from pathlib import Path

import claude_agent_sdk

from omoi_os.orchestrator.dispatch.worker_bytecode import compile_worker
from omoi_os.worker.agents.claude import driver as agent
from omoi_os.worker.startup import cold_start


async def test_the_worker_and_the_sdk_are_compiled_for_all_sandboxes() -> None:
    sources = [module.__file__ for module in (agent, cold_start, claude_agent_sdk) if module.__file__]
    compiled = [Path(importlib.util.cache_from_source(source)) for source in sources]
    for file in compiled:
        file.unlink(missing_ok=True)

    await compile_worker()

    assert [file for file in compiled if not file.is_file()] == []
