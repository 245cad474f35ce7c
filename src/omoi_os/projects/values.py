"""A project's settings as numbers, read so that one project's bad value is no other project's trouble."""

import re

from sqlalchemy import ColumnElement, Integer, case, cast

from omoi_os.projects.models import Project

_NUMBER = r"^[0-9]{1,8}$"
#: Tasks of a project that run at the same time, if its settings do not say.
DEFAULT_CONCURRENCY = 5


def number_of(project: Project, name: str, default: int) -> int:
    """A setting that should be a whole number; the default for anything else."""
    settings = project.settings if isinstance(project.settings, dict) else {}
    value = str(settings.get(name))
    return int(value) if re.fullmatch(_NUMBER, value) else default


def number_in_sql(name: str) -> ColumnElement[int | None]:
    """The same in a query; NULL for anything else, which a plain cast would fail at for every project."""
    value = Project.settings[name].as_string()
    return case((value.regexp_match(_NUMBER), cast(value, Integer)), else_=None)
