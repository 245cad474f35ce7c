"""Prices of models: the shipped list prices, overridden by the settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import yaml

from omoi_os.config import ModelPrice

LIST_PRICES = Path(__file__).with_name("prices.yaml")
#: The entry for models that no other entry names.
DEFAULT = "default"

_MILLION = 1_000_000
_CACHE_WRITE = 1.25
_CACHE_READ = 0.1


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0

    @property
    def total(self) -> int:
        """Return the number of all tokens."""
        return self.input_tokens + self.output_tokens + self.cache_write_tokens + self.cache_read_tokens


class PriceTable:
    """Prices by a part of the model's name in lower case. The first entry that matches applies."""

    def __init__(self, prices: Mapping[str, ModelPrice]) -> None:
        self._default = prices[DEFAULT]
        self._prices = {name: price for name, price in prices.items() if name != DEFAULT}

    @classmethod
    def load(cls, overrides: Mapping[str, ModelPrice]) -> Self:
        """Read the list prices. An entry of `overrides` takes precedence over every list price that it matches."""
        document = yaml.safe_load(LIST_PRICES.read_text(encoding="utf-8"))
        listed = {name: ModelPrice.model_validate(price) for name, price in document.items()}
        first = {name.lower(): price for name, price in overrides.items()}
        return cls({**first, **{name: price for name, price in listed.items() if name not in first}})

    def price_of(self, model: str) -> ModelPrice:
        """Return the price of a model."""
        name = model.lower()
        return next((price for part, price in self._prices.items() if part in name), self._default)

    def cost_usd(self, model: str, usage: Usage) -> float:
        """Return the cost of one call."""
        price = self.price_of(model)
        write = price.input_usd * _CACHE_WRITE if price.cache_write_usd is None else price.cache_write_usd
        read = price.input_usd * _CACHE_READ if price.cache_read_usd is None else price.cache_read_usd
        total = (
            usage.input_tokens * price.input_usd
            + usage.cache_write_tokens * write
            + usage.cache_read_tokens * read
            + usage.output_tokens * price.output_usd
        )
        return total / _MILLION
