"""Recognises a command, interpreter or module that a failed check could not find."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from omoi_os.tasks.verdict import Check

#: Exit codes of a shell that cannot execute or cannot find a command.
_CANNOT_RUN = frozenset({126, 127})
#: With another exit code, a missing command counts only within this many lines from the end.
_LAST_LINES = 8
_MAX_NAMES = 10
_MAX_LINE = 500

_NAME = r"(?P<name>[^\s:'\"\u2018\u2019]{1,200})"
_COMMANDS = tuple(
    re.compile(pattern)
    for pattern in (
        # sh: 1: pytest: not found, bash: line 1: pytest: command not found, ./run.sh: 3: pytest: not found
        rf"^\S{{1,200}}: (?:(?:line )?[0-9]{{1,6}}: )?{_NAME}: (?:command )?not found$",
        rf"^\S{{1,200}}: (?:(?:line )?[0-9]{{1,6}}: )?{_NAME}: (?:Permission denied|cannot execute\b.{{0,80}})$",
        rf"^make(?:\[[0-9]{{1,3}}\])?: {_NAME}: (?:No such file or directory|Command not found|Permission denied)$",
        rf"^(?:/usr/bin/)?env: ['\u2018]?{_NAME}['\u2019]?: No such file or directory$",
        rf"\bexec: \"{_NAME}\": executable file not found in ",
        rf": {_NAME}: bad interpreter: ",
    )
)
_MODULES = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?:E {1,8})?ModuleNotFoundError: No module named '(?P<name>[\w.]{1,200})'",
        r"^\S{0,200}python[\w.]{0,10}: No module named (?P<name>[\w.]{1,200})$",
        r"\bCannot find module '(?P<name>[^']{1,200})'",
        r"\bCannot find package '(?P<name>[^']{1,200})' imported from\b",
    )
)


class Kind(StrEnum):
    """What kind of thing is missing."""

    COMMAND = "command"
    MODULE = "module"


@dataclass(frozen=True, slots=True)
class Missing:
    """One thing that a check could not find."""

    kind: Kind
    #: The command's name or path, or the module's top-level name; empty if the output does not name it.
    name: str

    @property
    def is_path(self) -> bool:
        """Return whether it may be a file of the repository, which is always called by its path."""
        return "/" in self.name and self.kind is Kind.COMMAND

    def __str__(self) -> str:
        return f"the {self.kind} `{self.name}`" if self.name else "a command"


def find_missing(check: Check) -> tuple[Missing, ...]:
    """Return what the check reports as missing; nothing for a check that passed."""
    if not check.has_failed:
        return ()
    lines = [line[:_MAX_LINE].rstrip() for line in check.output.splitlines() if line.strip()]
    by_shell = check.exit_code in _CANNOT_RUN
    found = [*_commands(lines if by_shell else lines[-_LAST_LINES:]), *_modules(lines)]
    if by_shell and not any(missing.kind is Kind.COMMAND for missing in found):
        found.append(Missing(Kind.COMMAND, ""))
    return tuple(dict.fromkeys(found))[:_MAX_NAMES]


def _commands(lines: list[str]) -> Iterator[Missing]:
    # The last missing command stopped the check.
    for line in reversed(lines):
        for pattern in _COMMANDS:
            if match := pattern.search(line):
                yield Missing(Kind.COMMAND, match["name"])
                break


def _modules(lines: list[str]) -> Iterator[Missing]:
    for line in lines:
        for pattern in _MODULES:
            match = pattern.search(line)
            if match and not match["name"].startswith((".", "/")):
                yield Missing(Kind.MODULE, _top_level(match["name"]))
                break


def _top_level(name: str) -> str:
    """`pkg` of `pkg.sub` and `pkg/sub`, `@scope/pkg` of `@scope/pkg/sub`."""
    parts = name.split("/")
    return "/".join(parts[:2]) if name.startswith("@") else parts[0].split(".")[0]
