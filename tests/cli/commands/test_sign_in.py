"""`omoi sign-in` with a running API."""

from pathlib import Path

import httpx

from tests.api_process import ApiProcess
from tests.cli.test_main import omoi


async def test_it_prints_a_link_that_signs_a_browser_in(short_tmp: Path, database_url: str) -> None:
    api = ApiProcess(short_tmp, database_url)
    try:
        await api.start()
        printed = omoi("sign-in", **api.environment)
        link = printed.stdout.strip()
        async with httpx.AsyncClient(trust_env=False) as browser:
            first = await browser.get(link)
            me = await browser.get(f"{api.url}/api/v1/auth/me")
            second = await browser.get(link)
    finally:
        api.kill()

    assert (printed.returncode, link.startswith(f"{api.url}/sign-in?code=")) == (0, True)
    assert (first.status_code, me.json()["role"], second.status_code) == (303, "admin", 403)
    assert link.partition("code=")[2] not in api.log.read_text()


def test_without_a_database_it_prints_what_to_do() -> None:
    answer = omoi("sign-in", OMOI_DATA_DIR="/tmp/omoi-none")

    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert answer.stderr.startswith("omoi: there is no database")
