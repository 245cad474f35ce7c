"""The driver keeps the text of a reply that is never completed."""

from omoi_os.worker.agents.claude.driver import PARTIAL_CHARACTERS, PartialReply
from omoi_os.worker.agents.claude.sdk import AssistantMessage, StreamEvent, TextBlock


def delta(text: str, *, parent: str | None = None) -> StreamEvent:
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return StreamEvent(uuid="u", session_id="s", event=event, parent_tool_use_id=parent)


def test_the_text_streamed_so_far_is_kept_until_the_reply_is_whole() -> None:
    partial = PartialReply()
    for message in (delta("half a "), delta("not mine", parent="toolu_1"), delta("sentence")):
        partial.follow(message)
    assert partial.text == "half a sentence"

    partial.follow(AssistantMessage(content=[TextBlock("half a sentence, whole")], model="m"))
    assert partial.text == ""


def test_a_long_reply_is_kept_from_its_end() -> None:
    partial = PartialReply()
    partial.follow(delta("a" * PARTIAL_CHARACTERS))
    partial.follow(delta("the end"))

    assert len(partial.text) == PARTIAL_CHARACTERS
    assert partial.text.endswith("the end")
