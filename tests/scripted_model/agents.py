"""Agents under test: what the scripted model answered and what the agent did."""

from dataclasses import dataclass, field

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    Message,
    ResultMessage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)


@dataclass
class Model:
    """A scripted model at an address, with the status of every answer that it gave."""

    url: str
    statuses: list[int] = field(default_factory=list)


@dataclass
class Run:
    """What an agent did in answer to one prompt."""

    messages: list[Message]

    @property
    def result(self) -> ResultMessage:
        last = self.messages[-1]
        assert isinstance(last, ResultMessage)
        return last

    @property
    def calls(self) -> list[ToolUseBlock]:
        said = [message for message in self.messages if isinstance(message, AssistantMessage)]
        return [block for message in said for block in message.content if isinstance(block, ToolUseBlock)]

    @property
    def outputs(self) -> list[str]:
        heard = [message for message in self.messages if isinstance(message, UserMessage)]
        blocks = [block for message in heard if isinstance(message.content, list) for block in message.content]
        return [str(block.content) for block in blocks if isinstance(block, ToolResultBlock)]


async def run(client: ClaudeSDKClient, prompt: str) -> Run:
    """Give the agent a prompt and wait for its result."""
    await client.query(prompt)
    return Run([message async for message in client.receive_response()])
