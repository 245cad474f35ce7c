"""Figures: samples of ours beside those of a floor or a peer, and whether their ratio is within its goal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Beside:
    """What ours is held against: a floor, a peer or a limit, one sample for each of ours."""

    name: str
    samples: Sequence[float]


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report. Without a goal it only informs."""

    name: str
    samples: Sequence[float]
    beside: Beside
    goal: float | None = None
    unit: str = "ms"
    #: More is better: the goal is the least that the ratio may be.
    at_least: bool = False

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios: both samples of a round were taken on an equally busy machine."""
        return median(ours / theirs for ours, theirs in zip(self.samples, self.beside.samples, strict=True))

    @property
    def verdict(self) -> str:
        """Whether the goal is met."""
        if self.goal is None:
            return ""
        met = self.ratio >= self.goal if self.at_least else self.ratio <= self.goal
        return "met" if met else "short"

    def line(self) -> str:
        """The figure for a person."""
        goal = "" if self.goal is None else f"{'≥' if self.at_least else '≤'} {self.goal:.2f}x"
        return (
            f"{self.name:<44} {median(self.samples):8.1f} {percentile(self.samples, 0.9):8.1f} {self.unit:<3}"
            f" {self.beside.name:<31} {median(self.beside.samples):8.1f} {self.ratio:7.2f}x {goal:>8} {self.verdict}"
        )


HEADER = (
    f"{'figure':<44} {'median':>8} {'p90':>8} {'':<3}"
    f" {'floor, peer or limit':<31} {'median':>8} {'ratio':>8} {'goal':>8}"
)


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least this share of them does not exceed."""
    return sorted(samples)[max(0, math.ceil(share * len(samples)) - 1)]
