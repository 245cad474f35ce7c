"""Figures: our samples next to those of a floor or a peer, and whether their ratio meets its goal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Beside:
    """A floor, a peer or a limit, with one sample for each of ours."""

    name: str
    samples: Sequence[float]


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report, with or without a goal."""

    name: str
    samples: Sequence[float]
    beside: Beside
    goal: float | None = None
    unit: str = "ms"
    #: More is better: the goal is a minimum.
    at_least: bool = False

    @property
    def ratio(self) -> float:
        """Return the median of the rounds' ratios: both samples of a round come from an equally busy machine."""
        return median(ours / theirs for ours, theirs in zip(self.samples, self.beside.samples, strict=True))

    @property
    def verdict(self) -> str:
        """Return whether the goal is met."""
        if self.goal is None:
            return ""
        met = self.ratio >= self.goal if self.at_least else self.ratio <= self.goal
        return "met" if met else "short"

    def line(self) -> str:
        """Format the figure as one line of the report."""
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
    """Return the smallest sample that at least this share of the samples does not exceed."""
    return sorted(samples)[max(0, math.ceil(share * len(samples)) - 1)]
