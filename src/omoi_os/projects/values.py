"""Reads numbers from a project's settings, so that a bad value in one project does not affect others."""

import re

from sqlalchemy import ColumnElement, Integer, case, cast

from omoi_os.projects.models import Project

_NUMBER = r"^[0-9]{1,8}$"
#: Default of `max_concurrent_tasks`.
DEFAULT_CONCURRENCY = 5


def number_of(project: Project, name: str, default: int) -> int:
    """Return a setting that is a whole number; the default for anything else."""
    settings = project.settings if isinstance(project.settings, dict) else {}
    value = str(settings.get(name))
    return int(value) if re.fullmatch(_NUMBER, value) else default


def number_in_sql(name: str) -> ColumnElement[int | None]:
    """Return the same for a query: NULL for anything else, on which a plain cast would fail for all projects."""
    value = Project.settings[name].as_string()
    return case((value.regexp_match(_NUMBER), cast(value, Integer)), else_=None)
