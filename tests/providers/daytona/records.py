"""The loopback Daytona's record of each sandbox, and its form in both versions of the API."""

import asyncio
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class Age(StrEnum):
    """The version of the API that the server implements."""

    OLD = "0.190"
    NEW = "0.226"


@dataclass
class Command:
    """One command of a session."""

    text: str
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    exit_code: int | None = None
    output: bytes = b""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def shown(self) -> dict[str, Any]:
        code = {} if self.exit_code is None else {"exitCode": self.exit_code}
        return {"id": self.id, "command": self.text, **code}


@dataclass
class Session:
    """A session and its commands."""

    commands: list[Command] = field(default_factory=list)
    tasks: set["asyncio.Task[None]"] = field(default_factory=set)


@dataclass
class Record:
    """One sandbox, as it was requested."""

    asked: dict[str, Any]
    memory: int
    cpu: int
    disk: int
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    state: str = "creating"
    sessions: dict[str, Session] = field(default_factory=dict)
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    idle_minutes: float = 0

    @property
    def name(self) -> str:
        return str(self.asked.get("name") or self.id)

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.asked.get("labels") or {})

    def _common(self, toolbox: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "organizationId": "organization",
            "name": self.name,
            "snapshot": self.asked.get("snapshot"),
            "user": self.asked.get("user") or "daytona",
            "labels": self.labels,
            "public": bool(self.asked.get("public")),
            "target": self.asked.get("target") or "local",
            "cpu": self.cpu,
            "gpu": 0,
            "memory": self.memory,
            "disk": self.disk,
            "state": self.state,
            "autoStopInterval": self.asked.get("autoStopInterval", 15),
            "autoArchiveInterval": 10080,
            "autoDeleteInterval": self.asked.get("autoDeleteInterval", -1),
            "createdAt": self.created.isoformat(),
            "toolboxProxyUrl": toolbox,
        }

    def full(self, age: Age, toolbox: str) -> dict[str, Any]:
        """The answer about one sandbox."""
        new = {"kvm": False, "spot": False, "autoPauseInterval": 0, "someLaterField": {"a": 1}}
        allowed = {key: self.asked.get(key) for key in ("networkAllowList", "domainAllowList") if key in self.asked}
        return {
            **self._common(toolbox),
            **allowed,
            "env": dict(self.asked.get("env") or {}),
            "networkBlockAll": False,
            **(new if age is Age.NEW else {}),
        }

    def item(self, age: Age, toolbox: str) -> dict[str, Any]:
        """The answer in a list."""
        new = {"networkBlockAll": False, "spot": False, "someLaterField": 1}
        return {**self._common(toolbox), **(new if age is Age.NEW else {})}
