"""Estimates the cost of a model call before it is sent."""

from collections.abc import Iterator
from typing import Any

from omoi_os.gateway.model.metered.prices import PriceTable, Usage
from omoi_os.sandboxes.reservations import Estimate

#: Dense text has at least 2 bytes per token; ordinary code and prose have about 4.
_MIN_BYTES_PER_TOKEN = 2
_USUAL_BYTES_PER_TOKEN = 4
#: The price of an image depends on its pixels, not on its bytes. This is a safe upper bound.
_IMAGE_TOKENS = 5_000
#: The upstream refuses a request without `max_tokens`, so this stands in for the estimate.
_DEFAULT_MAX_TOKENS = 32_000
#: With fewer tokens an agent cannot make a useful tool call.
MIN_MAX_TOKENS = 512
_MIN_THINKING_TOKENS = 1024


def estimate(content: dict[str, Any], body: bytes, *, prices: PriceTable, model: str) -> Estimate:
    """Estimate the cost of a request: its maximum and its usual input, and its output per token."""
    pictures = list(_image_sizes(content.get("messages", ())))
    size = max(0, len(body) - sum(pictures))
    at_most = size // _MIN_BYTES_PER_TOKEN + len(pictures) * _IMAGE_TOKENS
    usually = size // _USUAL_BYTES_PER_TOKEN + len(pictures) * _IMAGE_TOKENS // 2
    asked = content.get("max_tokens")
    max_tokens = asked if isinstance(asked, int) and asked > 0 else _DEFAULT_MAX_TOKENS
    return Estimate(
        # Writing all input to the cache is the most expensive case.
        input_usd=prices.cost_usd(model, Usage(cache_write_tokens=at_most)),
        usual_input_usd=prices.cost_usd(model, Usage(input_tokens=usually)),
        output_token_usd=prices.cost_usd(model, Usage(output_tokens=1)),
        max_tokens=max_tokens,
        min_tokens=min(max_tokens, MIN_MAX_TOKENS),
    )


def cap_output(content: dict[str, Any], max_tokens: int) -> None:
    """Lower `max_tokens` of a request, and the thinking budget that must fit into it."""
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
    """Yield the length of each image's data in a conversation."""
    items = value if isinstance(value, list) else [value.get("content")] if isinstance(value, dict) else []
    for item in items:
        if isinstance(item, dict) and item.get("type") == "image":
            data = item["source"].get("data")
            yield len(data) if isinstance(data, str) else 0
        elif isinstance(item, (dict, list)):
            yield from _image_sizes(item)
