"""The SDK without its imports for MCP servers: a whole conversation works, and so does an MCP server."""

import asyncio
import json
import subprocess
import sys
from typing import Any

from omoi_os.worker.command import SOURCE
from tests.worker.conftest import Worker
from tests.worker.platform import HANG, WRITE, Platform

#: Runs in a separate process: stand-ins are used only where nothing has imported the real modules before.
PROGRAM = """
import sys
sys.path.insert(0, {source!r})
import omoi_os.worker.agents.claude.sdk
import asyncio, json
import claude_agent_sdk as sdk
HEAVY = ("mcp", "jsonschema", "pydantic", "starlette", "httpx", "cryptography")
def loaded():
    return sorted(name for name in HEAVY if name in sys.modules)
{steps}
"""


def run(steps: str, environ: dict[str, str] | None = None, *arguments: str) -> Any:
    """Run a program that loads the SDK as the driver does, and return the JSON it prints."""
    program = PROGRAM.format(source=SOURCE, steps=steps)
    command = [sys.executable, "-I", "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environ or {}, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_sdk_is_loaded_without_its_heavy_packages() -> None:
    assert run("print(json.dumps(loaded()))") == []


CONVERSATION = """
seen = {"hooks": [], "results": [], "texts": []}
async def note(data, tool_use_id, context):
    seen["hooks"].append([data["hook_event_name"], data.get("tool_name")])
    return {}
def options(**more):
    hooks = {name: [sdk.HookMatcher(hooks=[note])] for name in ("PreToolUse", "PostToolUse")}
    return sdk.ClaudeAgentOptions(tools=["Write", "Bash", "Task"], allowed_tools=["Write", "Bash"], cwd=sys.argv[1],
        permission_mode="acceptEdits", setting_sources=[], hooks=hooks, model="claude-sonnet-4-5",
        include_partial_messages=True, **more)
async def prompts():
    for text in ("Write it.",):
        yield {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}
async def follow(client, until):
    async for message in client.receive_messages():
        if isinstance(message, sdk.StreamEvent):
            seen["streamed"] = True
        if isinstance(message, sdk.AssistantMessage):
            seen["texts"] += [block.text for block in message.content if isinstance(block, sdk.TextBlock)]
            if any(isinstance(block, sdk.ToolUseBlock) and block.name == until for block in message.content):
                await client.interrupt()
        if isinstance(message, sdk.ResultMessage):
            seen["results"].append(message.terminal_reason)
            return message.session_id
async def main():
    async with sdk.ClaudeSDKClient(options()) as client:
        await client.query(prompts())
        session_id = await follow(client, "Bash")
        await client.query("Go on.")
        await follow(client, None)
    async with sdk.ClaudeSDKClient(options(resume=session_id)) as client:
        await client.query("What was it?")
        assert await follow(client, None) == session_id
asyncio.run(main())
print(json.dumps(seen | {"loaded": loaded()}))
"""


async def test_tools_hooks_streaming_interrupt_and_resume_need_none_of_them(worker: Worker, platform: Platform) -> None:
    platform.steps = [WRITE, HANG, {"text": "done"}]
    seen = await _in_thread(CONVERSATION, worker)

    assert ["PreToolUse", "Write"] in seen["hooks"]
    assert ["PostToolUse", "Write"] in seen["hooks"]
    assert ["PreToolUse", "Bash"] in seen["hooks"]
    assert seen["results"] == ["aborted_tools", "completed", "completed"]
    assert seen["texts"] == ["done", "done"]
    assert seen["streamed"] is True
    assert (worker.workspace / "binomial.py").exists()
    assert seen["loaded"] == []


MCP = """
from typing import Annotated
@sdk.tool("double", "Doubles a number", {"number": int})
async def double(arguments):
    return {"content": [{"type": "text", "text": f"DOUBLED {arguments['number'] * 2}"}]}
server = sdk.create_sdk_mcp_server("sums", tools=[double])
async def main():
    found = {}
    options = sdk.ClaudeAgentOptions(mcp_servers={"sums": server}, allowed_tools=["mcp__sums__double"],
        cwd=sys.argv[1], setting_sources=[], model="claude-sonnet-4-5")
    async with sdk.ClaudeSDKClient(options) as client:
        await client.query("Double it.")
        async for message in client.receive_response():
            for block in getattr(message, "content", None) or []:
                if isinstance(block, sdk.ToolResultBlock):
                    found.setdefault("results", []).append([block.is_error, json.dumps(block.content)])
    return found
print(json.dumps(asyncio.run(main()) | {"loaded": loaded()}))
"""


async def test_an_mcp_server_in_the_sdks_process_loads_them_and_works(worker: Worker, platform: Platform) -> None:
    called = {"tool": "mcp__sums__double", "input": {"number": 21}}
    wrong = {"tool": "mcp__sums__double", "input": {"number": "many"}}
    platform.steps = [called, wrong, {"text": "done"}]
    found = await _in_thread(MCP, worker)

    assert [(error, "DOUBLED 42" in text) for error, text in found["results"]] == [(None, True), (True, False)]
    assert "not of type" in found["results"][1][1]
    assert {"mcp", "jsonschema", "pydantic"} <= set(found["loaded"])


def test_what_was_derived_from_a_stand_in_says_what_to_use_instead() -> None:
    said = run(
        "try: sdk.ToolAnnotations(readOnlyHint=True)\n"
        "except Exception as error: print(json.dumps(f'{type(error).__name__}: {error}'))"
    )
    assert said == (
        "NotDeferrable: ToolAnnotations was created before mcp.types.ToolAnnotations was loaded;"
        " use mcp.types.ToolAnnotations instead."
    )


async def _in_thread(steps: str, worker: Worker) -> Any:
    for folder in (worker.home, worker.workspace):
        folder.mkdir()
    environ = worker.environ() | {
        "CLAUDE_CONFIG_DIR": str(worker.home / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }
    return await asyncio.to_thread(run, steps, environ, str(worker.workspace))
