"""Scripts of the scripted model, read from YAML and checked."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from omoi_os.errors import ConfigError

BUILT_IN = Path(__file__).with_name("scripts")

#: Texts are matched up to this length: they come from sandboxes, and a regular expression can be slow.
MAX_MATCHED_CHARS = 65_536


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Fail(_Part):
    """Failures that are sent before the reply of a step."""

    status: Literal["drop"] | int
    """HTTP status from 400 to 599, or `drop` to cut the stream in the middle."""
    times: int = Field(1, ge=1)

    @field_validator("status", mode="plain")
    @classmethod
    def _status_is_an_error(cls, value: object) -> object:
        if value != "drop" and not (type(value) is int and 400 <= value <= 599):
            raise ValueError("must be an error status from 400 to 599, or 'drop'")
        return value


class Step(_Part):
    """One reply of the model: a tool call, a text that ends the turn, or a text followed by a tool call."""

    tool: str | None = Field(None, min_length=1)
    input: dict[str, Any] = Field(default_factory=dict)
    text: str | None = Field(None, min_length=1)
    delay_s: float = Field(0, ge=0, le=3600)
    """Delay before the reply, in seconds."""
    fail: Fail | None = None
    repeat: int = Field(1, ge=1, le=10_000)
    """Number of consecutive replies that this step provides."""

    @model_validator(mode="after")
    def _has_text_or_tool(self) -> Self:
        if self.tool is None and self.text is None:
            raise ValueError("a step needs a 'tool' or a 'text'")
        if self.tool is None and self.input:
            raise ValueError("'input' needs a 'tool'")
        return self


class OnMessage(_Part):
    """Steps to play when a matching message reaches the agent."""

    match: re.Pattern[str]
    steps: tuple[Step, ...] = Field(min_length=1)


class Usage(_Part):
    """Token counts that each reply reports."""

    input_tokens: int = Field(1200, ge=0)
    output_tokens: int = Field(80, ge=0)


class Script(_Part):
    """One script file. A file with only `judgements` needs neither `match` nor `steps`."""

    match: re.Pattern[str] | None = None
    """Regular expression that is searched in the task's title and description."""
    steps: tuple[Step, ...] = ()
    on_message: tuple[OnMessage, ...] = ()
    on_subagent: tuple[Step, ...] = ()
    usage: Usage = Usage()
    judgements: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Answers to structured-output requests, by schema name."""

    @model_validator(mode="after")
    def _has_steps_or_judgements(self) -> Self:
        if (self.match is None) != (not self.steps):
            raise ValueError("'match' and 'steps' must be used together")
        if self.match is None and not self.judgements:
            raise ValueError("a script needs 'match' and 'steps', or 'judgements'")
        return self

    def covers(self, task: str) -> bool:
        """Return whether this script applies to the task with this title and description."""
        return self.match is not None and self.match.search(task[:MAX_MATCHED_CHARS]) is not None


class Library:
    """The scripts of a folder, ordered by file name, followed by the built-in scripts. Reloaded when files change."""

    def __init__(self, folder: Path | None) -> None:
        """Load the scripts. Raise `ConfigError` naming the file and key of an invalid script."""
        self._folder = folder
        self._seen: list[tuple[Path, int, int]] = []
        self._scripts: tuple[Script, ...] = ()
        self.scripts()

    def scripts(self) -> tuple[Script, ...]:
        """Return all scripts, reloading changed files. Raise `ConfigError` for an invalid script."""
        seen = [*_stamps(self._folder), *_stamps(BUILT_IN)]
        if seen != self._seen:
            self._scripts = tuple(load_script(path) for path, *_ in seen)
            self._seen = seen
        return self._scripts

    def find(self, task: str) -> Script | None:
        """Return the first script that applies to the task, or None."""
        return next((script for script in self.scripts() if script.covers(task)), None)

    def find_judgement(self, schema: str, task: str) -> dict[str, Any] | None:
        """Return the answer for a schema: from the script that applies to the task, else from the first with one."""
        scripts = self.scripts()
        preferred = sorted(scripts, key=lambda script: not script.covers(task))
        return next((script.judgements[schema] for script in preferred if schema in script.judgements), None)


def load_script(path: Path) -> Script:
    """Read one script. Raise `ConfigError` naming the file, the key and the problem."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"script {path} cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"script {path} is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"script {path} must be a mapping with 'match' and 'steps'")
    try:
        return Script.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = _key(first["loc"])
        problem = str(first["msg"]).removeprefix("Value error, ")
        raise ConfigError(f"script {path}{f', key {key}' if key else ''}: {problem}") from None


def _stamps(folder: Path | None) -> list[tuple[Path, int, int]]:
    """Return the script files of a folder, each with its modification time and size."""
    if folder is None:
        return []
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
        return [(path, status.st_mtime_ns, status.st_size) for path in files for status in [path.stat()]]
    except OSError as error:
        raise ConfigError(
            f"OMOI_SCRIPTS_DIR: the folder {folder} cannot be read ({error.strerror}); "
            "create it or unset OMOI_SCRIPTS_DIR"
        ) from None


def _key(location: Iterable[int | str]) -> str:
    """Return pydantic's location of an error as a path such as `steps[2].fail.status`."""
    key = ""
    for part in location:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else part
    return key
