"""The repositories of the local forge are in one data folder."""

from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.errors import SetupError
from omoi_os.sandboxes import site_owners
from omoi_os.system.installation import site_of
from tests.builders import a_project


async def test_two_data_folders_with_the_local_forge_are_refused(session: AsyncSession, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    await site_owners.claim_repositories(session, site=site_of(one), data_dir=one)
    # Without a repository there is nothing to be missed.
    await site_owners.claim_repositories(session, site=site_of(two), data_dir=two)
    await a_project(session)
    with pytest.raises(SetupError, match=f"{two}.* start with that folder, or.* write {site_of(two)} into {one}/site"):
        await site_owners.claim_repositories(session, site=site_of(one), data_dir=one)
    two.rename(tmp_path / "moved")
    await site_owners.claim_repositories(session, site=site_of(tmp_path / "moved"), data_dir=tmp_path / "moved")
