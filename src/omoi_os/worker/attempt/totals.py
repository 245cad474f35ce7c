"""Figures: what all turns of an attempt used together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omoi_os.worker.reporter.driver_process import finite

_COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Figures:
    """Adds the results up. Tokens come for each turn alone, the cost for the whole session."""

    def __init__(self, *, spent_usd: float = 0.0) -> None:
        self._spent = self._cost = spent_usd
        self._usage = dict.fromkeys(_COUNTS, 0.0)

    def add(self, result: Mapping[str, Any]) -> None:
        """Take one result in; what is no number counts as none."""
        self._cost = max(self._cost, finite(result.get("cost_usd")) or 0.0)
        usage = result.get("usage")
        if isinstance(usage, dict):
            for name in _COUNTS:
                self._usage[name] += finite(usage.get(name)) or 0

    def data(self, *, turn: int) -> dict[str, Any]:
        """For the last event; `turn` is the number that the last events carry.

        The results' own counts are left out: an interrupt counts as turns there.
        """
        usage = {name: int(count) for name, count in self._usage.items()}
        return {"turns": turn, "cost_usd": self._cost - self._spent, "tokens": sum(usage.values()), "usage": usage}
