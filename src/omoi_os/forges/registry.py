"""Which forge a name means. Adding one is a folder and a line here."""

import importlib
from typing import Protocol, cast

from omoi_os.config import Settings
from omoi_os.errors import ForgeError
from omoi_os.forges.base import Forge
from omoi_os.forges.mirrors import Mirrors

#: Modules with `make_forge(settings)` and `make_mirrors(settings)`, loaded when they are first needed.
FORGES = {
    "local": "omoi_os.forges.local.factory",
}

#: Names that the API reserves for forges that this version does not include.
RESERVED = frozenset({"github", "git"}) - FORGES.keys()


class _Factory(Protocol):
    def make_forge(self, settings: Settings) -> Forge: ...

    def make_mirrors(self, settings: Settings) -> Mirrors: ...


def make_forge(name: str, settings: Settings) -> Forge:
    """Return the forge of this name. Raise `ForgeError` if it does not exist."""
    return _factory(name).make_forge(settings)


def make_mirrors(name: str, settings: Settings) -> Mirrors:
    """Return the mirrors of this forge's repositories. Raise `ForgeError` if the forge does not exist."""
    return _factory(name).make_mirrors(settings)


def why_unavailable(name: str) -> str | None:
    """Return one sentence on why no project can use a forge of this name, or None if projects can."""
    if name in FORGES:
        return None
    known = " or ".join(FORGES)
    if name in RESERVED:
        return f"forge {name!r} is not available yet; use {known}"
    return f"forge {name!r} does not exist; use {known}"


def _factory(name: str) -> _Factory:
    if (reason := why_unavailable(name)) is not None:
        raise ForgeError(reason)
    return cast("_Factory", importlib.import_module(FORGES[name]))
