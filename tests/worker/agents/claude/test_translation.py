"""From the SDK's messages to events."""

from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    ContentBlock,
    Message,
    RateLimitEvent,
    RateLimitInfo,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)

from omoi_os.worker.agents.claude.translation import Conversation, translate


def reply(*blocks: ContentBlock, message_id: str = "m1", parent: str | None = None) -> AssistantMessage:
    return AssistantMessage(list(blocks), model="m", message_id=message_id, parent_tool_use_id=parent)


def result(tool_use_id: str, content: Any = "ok", *, is_error: bool = False, structured: Any = None) -> UserMessage:
    return UserMessage([ToolResultBlock(tool_use_id, content, is_error)], tool_use_result=structured)


def play(*messages: Message) -> list[tuple[str, dict[str, Any]]]:
    """Translate messages that come a second apart."""
    conversation = Conversation(workspace="/workspace")
    events = [e for second, m in enumerate(messages) for e in translate(m, conversation, now=float(second))]
    return [(event.event_type, event.event_data) for event in events]


def edited(structured: dict[str, Any], tool: str = "Write") -> dict[str, Any]:
    events = play(reply(ToolUseBlock("t1", tool, {})), result("t1", structured=structured))
    return next(data for event_type, data in events if event_type == "agent.file_edited")


def test_blocks_of_one_reply_are_one_turn() -> None:
    events = play(
        reply(ThinkingBlock("hm", "sig")), reply(TextBlock("hello")), reply(TextBlock("next"), message_id="m2")
    )

    assert [(event_type, data["turn"]) for event_type, data in events] == [
        ("agent.assistant_message", 1),
        ("agent.thinking", 1),
        ("agent.message", 1),
        ("agent.assistant_message", 2),
        ("agent.message", 2),
    ]
    assert events[2][1]["text"] == "hello"


def test_a_tool_is_followed_from_use_to_end() -> None:
    events = play(reply(ToolUseBlock("t1", "Bash", {"command": "ls"})), result("t1", "file", is_error=True))

    assert events[1] == ("agent.tool_use", {"tool": "Bash", "tool_use_id": "t1", "input": {"command": "ls"}, "turn": 1})
    completed = {
        "tool": "Bash",
        "tool_use_id": "t1",
        "is_error": True,
        "output": "file",
        "duration_ms": 1000,
        "turn": 1,
    }
    assert events[2] == ("agent.tool_completed", completed)
    assert events[3][0] == "agent.user_tool_result"


def test_structured_output_is_read_as_text() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "image", "source": {}}]
    events = play(reply(ToolUseBlock("t1", "Read", {})), result("t1", content))

    assert events[2][1]["output"] == "a\n[image]"


def test_a_created_file_has_a_diff_from_nothing() -> None:
    data = edited({"type": "create", "filePath": "/workspace/a/b.py", "content": "x\n", "structuredPatch": []})

    assert (data["file_path"], data["change_type"]) == ("a/b.py", "created")
    assert data["full_diff"] == "--- /dev/null\n+++ b/a/b.py\n@@ -0,0 +1,1 @@\n+x\n"
    assert (data["lines_added"], data["lines_removed"], data["diff_size"]) == (1, 0, len(data["full_diff"]))


def test_an_overwritten_file_has_a_diff_from_its_old_text() -> None:
    structured = {"type": "update", "filePath": "/workspace/f", "content": "new\n", "originalFile": "old\n"}
    data = edited(structured)

    assert data["change_type"] == "modified"
    assert data["full_diff"] == "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-old\n+new\n"


def test_an_edit_of_all_places_is_in_the_diff() -> None:
    structured = {"filePath": "/workspace/f", "oldString": "a", "newString": "b", "originalFile": "a\na\n"}
    once, always = edited(structured, "Edit"), edited({**structured, "replaceAll": True}, "Edit")

    assert (once["lines_added"], always["lines_added"]) == (1, 2)


def test_a_file_without_its_text_has_a_diff_from_the_hunks() -> None:
    hunk = {"oldStart": 7, "oldLines": 1, "newStart": 7, "newLines": 1, "lines": ["-a", "+b"]}
    structured = {"filePath": "/workspace/f", "oldString": "a", "newString": "b", "originalFile": None}
    data = edited({**structured, "structuredPatch": [hunk]}, "Edit")

    assert data["full_diff"] == "--- a/f\n+++ b/f\n@@ -7,1 +7,1 @@\n-a\n+b\n"


def test_a_file_outside_the_workspace_keeps_its_path() -> None:
    assert edited({"type": "create", "filePath": "/tmp/x", "content": "x\n"})["file_path"] == "tmp/x"


def test_a_failed_edit_edits_no_file() -> None:
    structured = {"type": "create", "filePath": "/workspace/f", "content": "x"}
    events = play(reply(ToolUseBlock("t1", "Write", {})), result("t1", is_error=True, structured=structured))

    assert "agent.file_edited" not in dict(events)


def test_sub_agents_and_skills_are_told_apart_and_do_not_count_as_turns() -> None:
    work = {"subagent_type": "calc", "description": "d", "prompt": "p"}
    events = play(
        reply(ToolUseBlock("t1", "Agent", work)),
        reply(TextBlock("inner"), message_id="m2", parent="t1"),
        result("t1", "answer"),
        reply(ToolUseBlock("t2", "Skill", {"skill": "greet"}), message_id="m3"),
    )
    found = dict(events)

    assert found["agent.subagent_invoked"] == {"tool_use_id": "t1", **work, "turn": 1}
    assert found["agent.subagent_completed"]["output"] == "answer"
    assert found["agent.message"]["parent_tool_use_id"] == "t1"
    assert found["agent.skill_invoked"]["skill"] == "greet"
    assert found["agent.skill_invoked"]["turn"] == 2


def test_a_retried_model_call_is_a_rate_limit() -> None:
    retry = {"attempt": 1, "max_retries": 2, "retry_delay_ms": 500, "error_status": 529, "uuid": "u"}
    events = play(SystemMessage("api_retry", retry))

    assert events[0][0] == "agent.rate_limited"
    assert events[0][1]["error_status"] == 529


def test_a_model_call_that_is_retried_without_an_answer_is_a_broken_stream() -> None:
    retry = {
        "attempt": 1,
        "max_retries": 2,
        "retry_delay_ms": 500,
        "error_status": None,
        "error": "unknown",
        "uuid": "u",
    }
    ((event_type, data),) = play(SystemMessage("api_retry", retry))

    assert (event_type, data["error_type"], data["attempt"]) == ("agent.stream_error", "network", 1)
    assert (data["error"], data["hint"]) == ("The model's answer was cut off.", "The request is retried.")


def test_a_limit_of_the_account_is_reported_only_when_it_bites() -> None:
    fine = RateLimitEvent(RateLimitInfo("allowed"), uuid="u", session_id="s")
    bites = RateLimitEvent(RateLimitInfo("rejected"), uuid="u", session_id="s")

    assert [event_type for event_type, _ in play(fine, bites)] == ["agent.rate_limited"]


def test_the_first_message_names_the_session() -> None:
    conversation = Conversation(workspace="/workspace")
    data = {"session_id": "s1", "model": "m", "memory_paths": {"a": "b"}}
    events = translate(SystemMessage("init", data), conversation, now=0)

    assert conversation.session_id == "s1"
    assert events[0].event_data == {"subtype": "init", "session_id": "s1", "model": "m", "turn": 0}
