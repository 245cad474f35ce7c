"""The scripted model of a conformance run, in terms that fit every agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class RunCommand:
    """The model calls the agent's shell tool with this command."""

    command: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The model replies with a text and calls no tool."""

    text: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """The model's API answers with an error status that the agent does not retry, such as 400."""

    status: int
    message: str


Step: TypeAlias = RunCommand | Reply | Refuse


class Model(Protocol):
    """A model API that plays steps, one for each tool result in the conversation; the last step repeats."""

    @property
    def variables(self) -> Mapping[str, str]:
        """The worker's environment with which the agent reaches this model."""

    @property
    def requests(self) -> Sequence[str]:
        """The conversations of all requests so far, each as text."""

    def play(self, *steps: Step) -> None:
        """Play these steps from now on."""
