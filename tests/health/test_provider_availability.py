"""Whether providers can make sandboxes."""

import asyncio
from pathlib import Path

from omoi_os.config import load_settings
from omoi_os.health.provider_availability import Availability


async def test_a_provider_that_lacks_something_says_what(short_tmp: Path) -> None:
    settings = load_settings(environ={}, config_dir=short_tmp, data_dir=short_tmp)
    asked = await Availability(settings).of(["daytona", "elsewhere", "daytona"])

    assert set(asked) == {"daytona", "elsewhere"}
    assert "DAYTONA_API_KEY" in (asked["daytona"].reason or "")
    assert "choose one of local" in (asked["elsewhere"].reason or "")


async def test_a_provider_that_works_here_has_no_complaint(short_tmp: Path) -> None:
    settings = load_settings(environ={}, config_dir=short_tmp, data_dir=short_tmp)

    tried = (await Availability(settings).of(["local"]))["local"]

    assert tried.reason is None
    assert tried.limits is not None
    assert tried.limits.pids != ""


async def test_many_who_ask_at_once_are_answered_by_one_try(short_tmp: Path) -> None:
    settings = load_settings(environ={}, config_dir=short_tmp, data_dir=short_tmp)
    availability = Availability(settings)
    answers = await asyncio.gather(*(availability.of(["daytona"]) for _ in range(5)))

    # Each try has a different message.
    assert len({id(answer["daytona"]) for answer in answers}) == 1
