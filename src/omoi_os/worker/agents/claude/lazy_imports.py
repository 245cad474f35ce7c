"""Defer the packages that the SDK imports for in-process MCP servers until something uses them.

The driver loads in 94 ms of processor time and 17 MB this way, instead of 497 ms and 50 MB (SDK 0.2.182, measured with
`mcp`, `jsonschema` and the pydantic below them). It loads while the repository is cloned, which takes about 125 ms, so
without this every cold start would reach its first model call (P2) about 0.4 s later.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: The modules that the SDK imports at its start and uses only for MCP servers in its own process.
NAMES = (
    *("mcp", "mcp.types", "mcp.server", "mcp.shared", "mcp.shared.message", "mcp.shared.memory"),
    "jsonschema",
)


class NotDeferrable(Exception):
    """Something needs a class that was replaced by a stand-in."""


class _StandIn(type):
    """The class of stand-ins. Calling one, or reading an attribute, uses the real class of the same module and name."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _real(cls)(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        # The import system and `typing` ask for such names, which does not count as a use.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_real(cls), name)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _real(cls))


def _real(stand_in: type) -> Any:
    """Return the real class of a stand-in. Raises `NotDeferrable` for a class that was derived from a stand-in."""
    base = stand_in.__bases__[0]
    if base is not object:
        name = f"{base.__module__}.{base.__name__}"
        raise NotDeferrable(f"{stand_in.__name__} was created before {name} was loaded; use {name} instead.")
    return getattr(importlib.import_module(stand_in.__module__), stand_in.__name__)


def _ignore_arguments(cls: type[Any], /, **_: Any) -> None:
    """Accept the arguments for pydantic with which the SDK derives classes."""


class _Module(types.ModuleType):
    """Replaces a module while the SDK is imported, and forwards to the real one afterwards."""

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
    """Give imports inside the block stand-ins for `NAMES`. Later imports get the real modules."""
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
