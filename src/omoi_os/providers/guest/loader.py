"""The beginning of a packed guest: makes modules of the sources that follow it, without any file."""

from __future__ import annotations

import sys
import types


def load(sources: dict[str, str]) -> None:
    """Import modules from their sources, in this order; their packages are empty."""
    for name, source in sources.items():
        package = ""
        for part in name.split(".")[:-1]:
            parent, package = package, f"{package}.{part}".lstrip(".")
            if package not in sys.modules:
                _add(package, parent).__path__ = []
        exec(compile(source, name, "exec"), _add(name, package).__dict__)  # noqa: S102


def _add(name: str, parent: str) -> types.ModuleType:
    module = sys.modules[name] = types.ModuleType(name)
    if parent:
        setattr(sys.modules[parent], name.rpartition(".")[2], module)
    return module
