"""Totals: the tokens and the cost of all turns of an attempt."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from omoi_os.protocol.agent import TurnEnded, Usage


class Totals:
    """Adds up turns. Tokens are reported per turn, the cost for the whole session."""

    def __init__(self, *, spent_usd: float = 0.0) -> None:
        """`spent_usd` is what the session had cost before this attempt."""
        self._spent = self._cost = spent_usd
        self._usage = dict.fromkeys((field.name for field in fields(Usage)), 0)

    def add(self, turn: TurnEnded) -> None:
        """Add one turn."""
        self._cost = max(self._cost, turn.cost_usd or 0.0)
        for name in self._usage:
            self._usage[name] += getattr(turn.usage, name)

    def data(self, *, turn: int) -> dict[str, Any]:
        """Return the fields for the last event. `turn` is the number that the last events carry.

        Turns are not counted here: for the driver an interrupt ends a turn too.
        """
        usage = dict(self._usage)
        return {"turns": turn, "cost_usd": self._cost - self._spent, "tokens": sum(usage.values()), "usage": usage}
