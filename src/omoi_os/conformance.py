"""The parts that the conformance suites of providers and forges share: a check, its failure and its outcome."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

#: The bench that a check gets: it holds what is under test.
B = TypeVar("B")


class Failed(AssertionError):
    """What is under test violates its contract; the sentence says what was observed."""


class Outcome(StrEnum):
    """Outcome of a check."""

    PASSED = "passed"
    FAILED = "failed"
    GAP = "gap"  #: it failed, and a known gap gives the reason


@dataclass(frozen=True)  # with slots, Python 3.11 cannot create it through an alias such as `Check[Bench]`
class Check(Generic[B]):
    """An async function `check(bench)` that raises `Failed` with what it observed."""

    name: str
    guarantee: StrEnum
    promise: str
    function: Callable[[B], Awaitable[None]]

    def __call__(self, bench: B) -> Awaitable[None]:
        """Run the check. Raises `Failed`."""
        return self.function(bench)

    def __str__(self) -> str:
        return self.name


def expect(condition: object, sentence: str) -> None:
    """Raise `Failed` with what was observed, unless the condition holds."""
    if not condition:
        raise Failed(sentence)


def collector(
    found: list[Check[B]],
) -> Callable[[StrEnum], Callable[[Callable[[B], Awaitable[None]]], Check[B]]]:
    """Return a decorator that turns functions into checks of a guarantee and appends them to `found`."""

    def of(guarantee: StrEnum) -> Callable[[Callable[[B], Awaitable[None]]], Check[B]]:
        def add(function: Callable[[B], Awaitable[None]]) -> Check[B]:
            name = getattr(function, "__name__", "")
            check = Check(name, guarantee, (function.__doc__ or "").strip(), function)
            found.append(check)
            return check

        return add

    return of
