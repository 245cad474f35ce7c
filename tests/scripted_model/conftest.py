"""A scripted model that listens, and real agents that talk to it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.typedefs import Handler
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient

from omoi_os.scripted_model.headers import task_headers
from omoi_os.scripted_model.server import make_app
from tests.scripted_model.agents import Model, Run, run


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[Model]]]:
    """Start scripted models that play the given scripts, a YAML text for each file."""
    runners: list[web.AppRunner] = []

    async def start(**scripts: str) -> Model:
        folder = tmp_path / f"scripts-{len(runners)}"
        folder.mkdir()
        for name, text in scripts.items():
            (folder / f"{name}.yaml").write_text(text)
        app = make_app(folder)
        model = Model("")

        @web.middleware
        async def record(request: web.Request, handler: Handler) -> web.StreamResponse:
            response = await handler(request)
            model.statuses.append(response.status)
            return response

        app.middlewares.append(record)
        runner = web.AppRunner(app)
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        model.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return model

    yield start
    for runner in runners:
        await runner.cleanup()


@pytest.fixture
def options(tmp_path: Path) -> Callable[..., ClaudeAgentOptions]:
    """Options for an agent that works on a task in its own workspace."""

    def make(served: Model, task: str, *, workspace: str = "workspace", **more: Any) -> ClaudeAgentOptions:
        folder = tmp_path / workspace
        folder.mkdir(exist_ok=True)
        env = {
            "ANTHROPIC_BASE_URL": served.url,
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_CUSTOM_HEADERS": "\n".join(f"{k}: {v}" for k, v in task_headers(task, "").items()),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
            "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
            "CLAUDE_CODE_TMPDIR": str(tmp_path),
        }
        return ClaudeAgentOptions(
            cwd=folder,
            env=env | more.pop("env", {}),
            model=more.pop("model", "scripted"),
            permission_mode="acceptEdits",
            allowed_tools=["Bash", "Read", "Task"],
            setting_sources=[],
            **more,
        )

    return make


@pytest.fixture
def play() -> Callable[..., Awaitable[Run]]:
    """Run an agent from its start to the result of one prompt."""

    async def from_start(options: ClaudeAgentOptions, prompt: str = "Do the task.") -> Run:
        client = ClaudeSDKClient(options)
        await client.connect()
        try:
            return await run(client, prompt)
        finally:
            await client.disconnect()

    return from_start
