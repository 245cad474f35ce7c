"""Scripts: what the scripted model plays, read from YAML and checked."""

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
    """What is answered first instead of the step's reply."""

    status: Literal["drop"] | int
    """An HTTP status of 400 to 599, or `drop`: the stream is cut in the middle."""
    times: int = Field(1, ge=1)

    @field_validator("status", mode="plain")
    @classmethod
    def _status_is_an_error(cls, value: object) -> object:
        if value != "drop" and not (type(value) is int and 400 <= value <= 599):
            raise ValueError("must be an error status from 400 to 599, or 'drop'")
        return value


class Step(_Part):
    """One reply of the model: it calls a tool, or says something and so ends its turn, or says something and calls."""

    tool: str | None = Field(None, min_length=1)
    input: dict[str, Any] = Field(default_factory=dict)
    text: str | None = Field(None, min_length=1)
    delay_s: float = Field(0, ge=0, le=3600)
    """Seconds before the reply."""
    fail: Fail | None = None
    repeat: int = Field(1, ge=1, le=10_000)
    """How many replies in a row are this one."""

    @model_validator(mode="after")
    def _says_or_does_something(self) -> Self:
        if self.tool is None and self.text is None:
            raise ValueError("a step needs a 'tool' or a 'text'")
        if self.tool is None and self.input:
            raise ValueError("'input' needs a 'tool'")
        return self


class OnMessage(_Part):
    """Steps that are played when a message that matches reaches the run."""

    match: re.Pattern[str]
    steps: tuple[Step, ...] = Field(min_length=1)


class Usage(_Part):
    """Tokens that each reply reports, for the cost."""

    input_tokens: int = Field(1200, ge=0)
    output_tokens: int = Field(80, ge=0)


class Script(_Part):
    """One file. A file of `judgements` alone needs neither `match` nor `steps`."""

    match: re.Pattern[str] | None = None
    """Searched in the task's title and description."""
    steps: tuple[Step, ...] = ()
    on_message: tuple[OnMessage, ...] = ()
    on_subagent: tuple[Step, ...] = ()
    usage: Usage = Usage()
    judgements: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Answers to structured-output requests by the name of the schema."""

    @model_validator(mode="after")
    def _plays_or_judges(self) -> Self:
        if (self.match is None) != (not self.steps):
            raise ValueError("'match' and 'steps' need each other")
        if self.match is None and not self.judgements:
            raise ValueError("a script needs 'match' and 'steps', or 'judgements'")
        return self

    def covers(self, task: str) -> bool:
        """Whether this script plays for the task with this title and description."""
        return self.match is not None and self.match.search(task[:MAX_MATCHED_CHARS]) is not None


class Library:
    """The scripts of a folder, in the order of their names, then the built-in ones; read again when files change."""

    def __init__(self, folder: Path | None) -> None:
        """`ConfigError` names the file and the key of a script that cannot be played."""
        self._folder = folder
        self._seen: list[tuple[Path, int, int]] = []
        self._scripts: tuple[Script, ...] = ()
        self.scripts()

    def scripts(self) -> tuple[Script, ...]:
        """All scripts as the files are now; raises as the constructor does."""
        seen = [*_stamps(self._folder), *_stamps(BUILT_IN)]
        if seen != self._seen:
            self._scripts = tuple(load_script(path) for path, *_ in seen)
            self._seen = seen
        return self._scripts

    def find(self, task: str) -> Script | None:
        """The first script that covers the task."""
        return next((script for script in self.scripts() if script.covers(task)), None)

    def find_judgement(self, schema: str, task: str) -> dict[str, Any] | None:
        """The answer for a schema: of the script that covers the task, else of the first script that has one."""
        scripts = self.scripts()
        preferred = sorted(scripts, key=lambda script: not script.covers(task))
        return next((script.judgements[schema] for script in preferred if schema in script.judgements), None)


def load_script(path: Path) -> Script:
    """Read one file; `ConfigError` says what is wrong with which key of it."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"Script {path} cannot be read: {error}.") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"Script {path} is not valid YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(document, dict):
        raise ConfigError(f"Script {path} must be a mapping with 'match' and 'steps'.")
    try:
        return Script.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = _key(first["loc"])
        problem = str(first["msg"]).removeprefix("Value error, ")
        raise ConfigError(f"Script {path}{f', key {key}' if key else ''}: {problem}.") from None


def _stamps(folder: Path | None) -> list[tuple[Path, int, int]]:
    """Each script of a folder with what tells that it changed."""
    if folder is None:
        return []
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
        return [(path, status.st_mtime_ns, status.st_size) for path in files for status in [path.stat()]]
    except OSError as error:
        raise ConfigError(
            f"OMOI_SCRIPTS_DIR: the folder {folder} cannot be read ({error.strerror}); create it or unset the variable."
        ) from None


def _key(location: Iterable[int | str]) -> str:
    """`steps[2].fail.status` for pydantic's location."""
    key = ""
    for part in location:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else part
    return key
