"""Platform warnings are shown to administrators on every page and on Health."""

import psycopg
from playwright.sync_api import Page, expect

from omoi_os.db import embedded
from omoi_os.db.base import plain_url
from tests.browser.axe import violations
from tests.e2e.platform import Platform

REPORT = """
    INSERT INTO platform_warnings (key, source, message, since, updated_at)
    VALUES ('test_disk', 'test', 'the disk of this test is full; free some space', now(), now())
"""


def test_a_warning_is_shown_on_every_page_until_it_is_cleared(page: Page, platform: Platform) -> None:
    with psycopg.connect(plain_url(embedded.url(platform.data_dir)), autocommit=True) as database:
        database.execute(REPORT)
        page.goto("/sandboxes")
        banner = page.get_by_role("status", name="Platform warnings")
        expect(banner).to_contain_text("The disk of this test is full; free some space.")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert violations(page, "light") == []
        banner.get_by_role("link").click()
        expect(page.get_by_role("heading", name="Needs attention")).to_be_visible()
        warning = page.get_by_role("listitem").filter(has_text="The disk of this test is full")
        expect(warning).to_contain_text("First reported")
        assert violations(page, "dark") == []
        database.execute("DELETE FROM platform_warnings WHERE key = 'test_disk'")
    page.reload()
    expect(page.get_by_role("heading", name="Open tasks")).to_be_visible()
    expect(page.get_by_text("The disk of this test is full")).to_have_count(0)
