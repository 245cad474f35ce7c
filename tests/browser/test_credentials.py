"""My credentials: added, checked and deleted on the page, which never shows the secret."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import sign_in
from tests.e2e.platform import Platform

SECRET = "a-password-of-the-administrator"


@pytest.fixture
def page(platform: Platform, open_context: Callable[..., BrowserContext]) -> Iterator[Page]:
    opened = sign_in(open_context(base_url=platform.url), platform).new_page()
    opened.goto("/")
    yield opened
    for row in platform.get("/credentials")["items"]:
        platform.request("DELETE", f"/credentials/{row['id']}")


def test_a_credential_is_added_and_deleted(page: Page, platform: Platform) -> None:
    page.get_by_role("button", name="Account:").click()
    page.get_by_role("menuitem", name="My credentials").click()
    expect(page.get_by_role("heading", name="No credentials yet")).to_be_visible()
    assert violations(page) == []

    page.get_by_role("button", name="Add credential").click()
    window = page.get_by_role("dialog", name="Add credential")
    window.get_by_label("Provider").select_option("Git host")
    window.get_by_label("Name", exact=True).fill("Forge")
    window.get_by_label("URL").fill("https://git.example.org")
    window.get_by_label("User name").fill("ada")
    expect(window.get_by_role("button", name="Add credential")).to_be_disabled()
    window.get_by_label("Password or token").fill(SECRET)
    assert violations(page) == []
    window.get_by_role("button", name="Add credential").click()

    row = page.get_by_role("listitem").filter(has_text="Forge")
    expect(row).to_contain_text("ends in ator")
    expect(row).to_contain_text("not checked")
    expect(window).to_have_count(0)
    assert SECRET not in page.content()
    assert violations(page) == []

    row.get_by_role("button", name="Delete Forge").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete credential").click()
    expect(page.get_by_role("heading", name="No credentials yet")).to_be_visible()
    assert platform.get("/credentials")["items"] == []


def test_a_refused_field_is_explained_in_the_dialog(page: Page) -> None:
    page.goto("/settings/credentials")
    page.get_by_role("button", name="Add credential").click()
    window = page.get_by_role("dialog", name="Add credential")
    window.get_by_label("Name", exact=True).fill("Mine")
    window.get_by_label("API key").fill("sk-ant-oat01-of-a-subscription")
    window.get_by_role("button", name="Add credential").click()

    expect(window.get_by_role("alert")).to_contain_text(re.compile("OAuth token of a Claude subscription"))
    expect(window.get_by_label("API key")).to_have_value("sk-ant-oat01-of-a-subscription")
