"""Prices: the shipped list, and the settings that override it."""

import pytest

from omoi_os.config import ModelPrice
from omoi_os.gateway.model.metered.prices import PriceTable, Usage

MILLION = Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000)


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ("claude-opus-4-5", 5 + 6.25 + 0.5 + 25),
        ("claude-opus-4-20250514", 15 + 18.75 + 1.5 + 75),
        ("claude-opus-4-1", 15 + 18.75 + 1.5 + 75),
        ("claude-sonnet-4-5", 3 + 3.75 + 0.3 + 15),
        ("claude-haiku-4-5", 1 + 1.25 + 0.1 + 5),
        ("scripted", 3 + 3.75 + 0.3 + 15),
        ("something new", 3 + 3.75 + 0.3 + 15),
    ],
)
def test_a_million_tokens_of_each_kind_cost_the_list_price(model: str, cost: float) -> None:
    assert PriceTable.load({}).cost_usd(model, MILLION) == pytest.approx(cost)


def test_an_override_applies_before_every_list_price_and_leaves_the_others() -> None:
    table = PriceTable.load({"Opus": ModelPrice(input_usd=1, output_usd=2)})

    assert table.price_of("claude-opus-4-1-20250805").output_usd == 2
    assert table.price_of("claude-haiku-4-5").output_usd == 5


def test_a_default_override_applies_to_models_that_no_entry_names() -> None:
    table = PriceTable.load({"default": ModelPrice(input_usd=0, output_usd=0)})

    assert table.cost_usd("llama-local", MILLION) == 0
    assert table.cost_usd("claude-sonnet-4-5", MILLION) > 0


def test_prices_of_the_cache_can_be_set() -> None:
    price = ModelPrice(input_usd=10, output_usd=0, cache_write_usd=7, cache_read_usd=0)
    table = PriceTable.load({"own": price})

    assert table.cost_usd("own-model", Usage(cache_write_tokens=1_000_000)) == pytest.approx(7)
    assert table.cost_usd("own-model", Usage(cache_read_tokens=1_000_000)) == 0
