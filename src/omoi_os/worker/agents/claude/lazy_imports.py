"""Deferred packages: what the SDK imports for in-process MCP servers is loaded only when something touches it.

`mcp`, `jsonschema` and the pydantic below them take nine tenths of the SDK's import time and two thirds of its memory.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: The modules that the SDK imports at its start and uses in nothing but MCP servers of its own process.
NAMES = (
    *("mcp", "mcp.types", "mcp.server", "mcp.shared", "mcp.shared.message", "mcp.shared.memory"),
    "jsonschema",
)


class NotDeferrable(Exception):
    """Something needs a class of which there is only a stand-in."""


class _StandIn(type):
    """The class of stand-ins: each is told apart by its module and name, and every use of it is one of the real."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _real(cls)(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        # The import system and `typing` ask for such names; they are no use.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_real(cls), name)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _real(cls))


def _real(stand_in: type) -> Any:
    """What a stand-in stands for. What was derived from one while it stood in cannot be had."""
    base = stand_in.__bases__[0]
    if base is not object:
        name = f"{base.__module__}.{base.__name__}"
        raise NotDeferrable(f"{stand_in.__name__} was made before {name} was loaded; use {name} itself.")
    return getattr(importlib.import_module(stand_in.__module__), stand_in.__name__)


def _ignore_arguments(cls: type[Any], /, **_: Any) -> None:
    """Classes that the SDK derives are derived with arguments for pydantic."""


class _Module(types.ModuleType):
    """Stands for a module while the SDK is imported, and after that passes everything on to the real one."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is not self:
            return getattr(importlib.import_module(self.__name__), name)
        namespace = {"__module__": self.__name__, "__init_subclass__": classmethod(_ignore_arguments)}
        return _StandIn(name, (), namespace)


@contextmanager
def deferred() -> Iterator[None]:
    """Let what is imported inside see stand-ins for `NAMES`; whoever imports them afterwards gets the real ones."""
    absent = [name for name in NAMES if name not in sys.modules]
    stand_ins = {name: _Module(name) for name in absent}
    for name, module in stand_ins.items():
        parent, _, child = name.rpartition(".")
        if parent in stand_ins:
            setattr(stand_ins[parent], child, module)
    sys.modules |= stand_ins
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


@contextmanager
def absent(name: str) -> Iterator[None]:
    """Let a package that is not loaded yet be one that is not installed."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]
