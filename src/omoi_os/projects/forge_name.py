"""The name of a forge as requests carry it; the names come from the registry of forges."""

from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from omoi_os.forges.registry import FORGES, why_unavailable
from omoi_os.http.text import Described


def _available(name: str) -> str:
    if (reason := why_unavailable(name)) is not None:
        raise ValueError(reason)
    return name


#: A forge that projects can use, in any case.
ForgeName = Annotated[
    str,
    StringConstraints(to_lower=True, max_length=100),
    AfterValidator(_available),
    Described("enum", tuple(FORGES)),
]
