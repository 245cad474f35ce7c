"""Estimates the cost of a model call before it is sent."""

from collections.abc import Iterator
from typing import Any

from omoi_os.gateway.model.prices import Usage, cost_usd
from omoi_os.sandboxes.reservations import Estimate

#: Dense text has fewer bytes for a token, ordinary code and prose have more.
_BYTES_PER_TOKEN_AT_LEAST = 2
_BYTES_PER_TOKEN_USUALLY = 4
#: An image costs what its size in pixels does, however many bytes it has.
_IMAGE_TOKENS = 5_000
#: A request without `max_tokens` is refused by the model's host; it is given this.
_DEFAULT_MAX_TOKENS = 32_000
#: Below this an agent cannot make a tool call of any use.
MIN_MAX_TOKENS = 512
_MIN_THINKING_TOKENS = 1024


def estimate(content: dict[str, Any], body: bytes, model: str) -> Estimate:
    """Estimate a reduced request: at most, and usually."""
    pictures = list(_image_sizes(content.get("messages", ())))
    size = max(0, len(body) - sum(pictures))
    at_most = size // _BYTES_PER_TOKEN_AT_LEAST + len(pictures) * _IMAGE_TOKENS
    usually = size // _BYTES_PER_TOKEN_USUALLY + len(pictures) * _IMAGE_TOKENS // 2
    asked = content.get("max_tokens")
    max_tokens = asked if isinstance(asked, int) and asked > 0 else _DEFAULT_MAX_TOKENS
    return Estimate(
        # All of the input may be written to the cache, which is the dearest way to read it.
        input_usd=cost_usd(model, Usage(cache_write_tokens=at_most)),
        usual_input_usd=cost_usd(model, Usage(input_tokens=usually)),
        output_token_usd=cost_usd(model, Usage(output_tokens=1)),
        max_tokens=max_tokens,
        min_tokens=min(max_tokens, MIN_MAX_TOKENS),
    )


def cap_output(content: dict[str, Any], max_tokens: int) -> None:
    """Lower `max_tokens` of a request, and with it the thinking that has to fit in."""
    content["max_tokens"] = max_tokens
    thinking = content.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if not isinstance(budget, int) or budget < max_tokens:
        return
    if max_tokens >= 2 * _MIN_THINKING_TOKENS:
        content["thinking"] = {**content["thinking"], "budget_tokens": max_tokens // 2}
    else:
        del content["thinking"]


def _image_sizes(value: Any) -> Iterator[int]:
    """The length of each image's data in a conversation."""
    items = value if isinstance(value, list) else [value.get("content")] if isinstance(value, dict) else []
    for item in items:
        if isinstance(item, dict) and item.get("type") == "image":
            data = item["source"].get("data")
            yield len(data) if isinstance(data, str) else 0
        elif isinstance(item, (dict, list)):
            yield from _image_sizes(item)
