"""Real agents (SDK and CLI) that the scripted model plays."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    HookContext,
    HookInput,
    HookJSONOutput,
    HookMatcher,
    Message,
)

from omoi_os.ids import uuid7
from omoi_os.protocol import messages as protocol
from omoi_os.scripted_model.scripts import BUILT_IN
from omoi_os.scripted_model.server import NO_SCRIPT
from omoi_os.worker.agents.claude.message_injection import MAX_HOOK_CHARACTERS
from tests.scripted_model.agents import Model, Run, run

Serve = Callable[..., Awaitable[Model]]
Options = Callable[..., ClaudeAgentOptions]
Play = Callable[..., Awaitable[Run]]

ANSWER = "126410606437752"

TWO_COMMANDS = """
match: two commands
steps:
  - {tool: Bash, input: {command: echo one >> log}}
  - {tool: Bash, input: {command: echo two >> log}, fail: {status: 529, times: FAILURES}}
  - text: "both ran"
"""

WAITING = """
match: wait
steps:
  - {tool: Bash, input: {command: "until [ -e go ]; do python3 -c 'import time; time.sleep(0.05)'; done; echo waited"}}
  - {tool: Bash, input: {command: echo rest}}
  - text: "{{output}}; message: {{message}}"
on_message:
  - match: 'C\\(10, ?5\\)'
    steps:
      - {tool: Bash, input: {command: "python3 -c 'import math; print(math.comb(10, 5))'"}}
"""


def marked(content: str) -> str:
    """As the platform hands it over."""
    return protocol.Message(str(uuid7()), "user_message", content, "next_tool", "user:ada@example.org").marked()


async def test_the_demo_script_gives_the_number_that_the_program_printed(
    serve: Serve, options: Options, play: Play, tmp_path: Path
) -> None:
    done = await play(options(await serve(), "Calculate binomial coefficient C(50,25)"))

    assert not done.result.is_error
    assert ANSWER in (done.result.result or "")
    assert ANSWER not in (BUILT_IN / "binomial.yaml").read_text()
    assert [call.name for call in done.calls] == ["Bash", "Read", "Write", "Edit", "Bash"]
    assert done.outputs[-1] == f"C(50,25) = {ANSWER}"
    assert "def check" in (tmp_path / "workspace/binomial.py").read_text()


@pytest.mark.parametrize("left_behind", ["an earlier attempt", "the whole work"])
async def test_the_demo_script_also_plays_where_its_file_exists(
    serve: Serve, options: Options, play: Play, *, tmp_path: Path, left_behind: str
) -> None:
    model = await serve()
    if left_behind == "the whole work":
        await play(options(model, "binomial"))
    else:
        (tmp_path / "workspace").mkdir()
        (tmp_path / "workspace/binomial.py").write_text("print('not this')\n")

    done = await play(options(model, "binomial"))

    assert ANSWER in (done.result.result or "")
    assert "def check" in (tmp_path / "workspace/binomial.py").read_text()


@pytest.mark.parametrize("status", ["429", "500", "529", "drop"])
async def test_a_failure_is_given_as_often_as_asked_and_then_the_step_plays(
    serve: Serve, options: Options, play: Play, *, tmp_path: Path, status: str
) -> None:
    model = await serve(script=TWO_COMMANDS.replace("529", status).replace("FAILURES", "1"))

    done = await play(options(model, "two commands"))

    assert (done.result.is_error, done.result.result) == (False, "both ran")
    assert (tmp_path / "workspace/log").read_text() == "one\ntwo\n"
    assert model.statuses == [200, 200 if status == "drop" else int(status), 200, 200]


async def test_a_resumed_session_goes_on_at_the_step_that_failed(
    serve: Serve, options: Options, play: Play, tmp_path: Path
) -> None:
    model = await serve(script=TWO_COMMANDS.replace("FAILURES", "2"))
    broken = await play(options(model, "two commands", env={"CLAUDE_CODE_MAX_RETRIES": "1"}))
    assert (broken.result.is_error, broken.result.api_error_status) == (True, 529)

    done = await play(options(model, "two commands", resume=broken.result.session_id), "Go on.")

    assert done.result.result == "both ran"
    assert (tmp_path / "workspace/log").read_text() == "one\ntwo\n"


async def test_a_command_whose_agent_was_killed_is_played_again_on_resume(
    serve: Serve, options: Options, play: Play
) -> None:
    model = await serve(
        script="""
match: killed
steps:
  - tool: Bash
    input:
      command: |
        if [ -e once ]; then echo survived; exit; fi
        touch once
        # The CLI writes its conversation a moment after it has started the command.
        until grep -rqs tool_use $CLAUDE_CONFIG_DIR/projects; do sleep 0.05; done
        kill -9 $PPID
  - text: "{{output}}"
"""
    )
    session = str(uuid.uuid4())
    with pytest.raises(ClaudeSDKError):
        await play(options(model, "killed", session_id=session))

    done = await play(options(model, "killed", resume=session), "Go on.")

    assert done.result.result == "survived"


async def test_a_task_without_a_script_fails_with_one_request_and_the_sentence(
    serve: Serve, options: Options, play: Play
) -> None:
    model = await serve()

    done = await play(options(model, "Write a poem", env={"CLAUDE_CODE_MAX_RETRIES": "10"}))

    assert done.result.is_error
    assert done.result.result == f"API Error: 400 {NO_SCRIPT}"
    assert model.statuses == [400]


@pytest.mark.parametrize("name", ["scripted", "claude-sonnet-4-5"])
async def test_a_message_to_a_working_agent_is_answered_next_and_then_the_rest_plays(
    serve: Serve, options: Options, *, tmp_path: Path, name: str
) -> None:
    messages: list[Message] = []
    async with ClaudeSDKClient(options(await serve(script=WAITING), "wait", model=name)) as client:
        await client.query("Do it.")
        async for message in client.receive_response():
            messages.append(message)
            if len(Run(messages).calls) == 1 and not Run(messages).outputs:
                await client.query("also print C(10,5)")
                # The CLI answers a control request only after it has read the message before it.
                await client.set_permission_mode("acceptEdits")
                (tmp_path / "workspace/go").touch()

    done = Run(messages)
    assert done.outputs == ["waited", "252", "rest"]
    assert done.result.result == "rest; message: also print C(10,5)"


@pytest.mark.parametrize("name", ["scripted", "claude-sonnet-4-5"])
@pytest.mark.parametrize("way", ["hook", "prompt"])
async def test_a_marked_message_is_answered_however_it_is_handed_over(
    serve: Serve, options: Options, *, tmp_path: Path, name: str, way: str
) -> None:
    # A hook's text must be short, a prompt may be long.
    story = "x" * (MAX_HOOK_CHARACTERS - 300 if way == "hook" else 60_000)
    sent = [marked("hello"), marked(f"also print C(10,5) {story}")]
    held = [] if way == "prompt" else ["\n\n".join(sent)]

    async def hand_over(_data: HookInput, _tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        context = held.pop() if held else ""
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": context}} if context else {}

    model = await serve(script=WAITING)
    agent = options(model, "wait", model=name, hooks={"PostToolUse": [HookMatcher(hooks=[hand_over])]})
    messages: list[Message] = []
    async with ClaudeSDKClient(agent) as client:
        await client.query("Do it.")
        async for message in client.receive_response():
            messages.append(message)
            if len(Run(messages).calls) == 1 and not Run(messages).outputs:
                for text in sent if way == "prompt" else ():
                    await client.query(text)
                await client.set_permission_mode("acceptEdits")
                (tmp_path / "workspace/go").touch()

    done = Run(messages)
    assert done.outputs == ["waited", "252", "rest"]
    assert done.result.result == f"rest; message: also print C(10,5) {story}"


async def test_a_message_after_the_result_is_answered_in_a_new_turn(
    serve: Serve, options: Options, tmp_path: Path
) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace/go").touch()
    async with ClaudeSDKClient(options(await serve(script=WAITING), "wait")) as client:
        first = await run(client, "Do it.")
        other = await run(client, "Thank you.")
        asked = await run(client, "And C(10, 5)?")

    assert first.result.result == "rest; message: "
    assert (other.calls, other.result.result) == ([], "rest; message: Thank you.")
    assert (asked.outputs, asked.result.result) == (["252"], "252; message: And C(10, 5)?")


async def test_a_repeated_step_is_played_again_and_again(
    serve: Serve, options: Options, play: Play, tmp_path: Path
) -> None:
    model = await serve(
        script="""
match: again
steps:
  - {tool: Bash, input: {command: echo again >> log}, repeat: 3}
  - text: enough
"""
    )

    done = await play(options(model, "again"))

    assert done.result.result == "enough"
    assert (tmp_path / "workspace/log").read_text() == "again\n" * 3


@pytest.mark.parametrize("part", ["scripted", "plain"])
async def test_a_subagent_plays_its_own_steps_or_says_done(
    serve: Serve, options: Options, play: Play, *, part: str
) -> None:
    own = 'on_subagent: [{tool: Bash, input: {command: echo below}}, {text: "sub says {{output}}"}]'
    model = await serve(
        script=f"""
match: delegate
steps:
  - tool: Agent
    input: {{description: d, subagent_type: general-purpose, prompt: Look below., run_in_background: false}}
  - text: "{{{{output}}}}"
{own if part == "scripted" else ""}
"""
    )

    done = await play(options(model, "delegate"))

    lines = [line.strip() for line in (done.result.result or "").splitlines()]
    assert ("sub says below" if part == "scripted" else "done") in lines


async def test_two_tasks_play_side_by_side(serve: Serve, options: Options, play: Play, tmp_path: Path) -> None:
    model = await serve(script=TWO_COMMANDS.replace("FAILURES", "1"))

    async def one(task: str, workspace: str) -> str | None:
        agent: ClaudeAgentOptions = options(model, task, workspace=workspace)
        return (await play(agent)).result.result

    left, right, number = await asyncio.gather(
        one("two commands", "left"), one("two commands", "right"), one("binomial", "number")
    )

    assert (left, right) == ("both ran", "both ran")
    assert ANSWER in (number or "")
    assert (tmp_path / "left/log").read_text() == (tmp_path / "right/log").read_text() == "one\ntwo\n"
