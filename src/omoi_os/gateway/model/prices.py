"""What a model call costs, in dollars per million tokens. List prices; a contract's own may differ."""

from dataclasses import dataclass

_MILLION = 1_000_000
_CACHE_WRITE = 1.25
_CACHE_READ = 0.1


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one model call."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.input_tokens + self.output_tokens + self.cache_write_tokens + self.cache_read_tokens


@dataclass(frozen=True, slots=True)
class Price:
    """Of one family of models."""

    input_usd: float
    output_usd: float


SONNET = Price(3, 15)
#: Opus was dearer up to 4.1; 4.0 carries its date (`opus-4-2025…`). The first part that a model's name contains
#: decides; what none fits, the scripted model too, is priced as Sonnet.
PRICES = {
    "opus-4-0": Price(15, 75),
    "opus-4-1": Price(15, 75),
    "opus-4-2": Price(15, 75),
    "3-opus": Price(15, 75),
    "opus": Price(5, 25),
    "3-5-haiku": Price(0.8, 4),
    "haiku": Price(1, 5),
    "sonnet": SONNET,
}


def price_of(model: str) -> Price:
    """The price of a model by its name."""
    return next((price for part, price in PRICES.items() if part in model.lower()), SONNET)


def cost_usd(model: str, usage: Usage) -> float:
    """The price of one call."""
    price = price_of(model)
    weighted_input = (
        usage.input_tokens + usage.cache_write_tokens * _CACHE_WRITE + usage.cache_read_tokens * _CACHE_READ
    )
    return (weighted_input * price.input_usd + usage.output_tokens * price.output_usd) / _MILLION
