"""Members, keys, sessions and users on the page."""

from collections.abc import Callable
from uuid import uuid4

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.axe import violations
from tests.e2e.platform import Platform


def test_a_user_is_added_invited_and_made_a_member(
    page: Page, open_context: Callable[..., BrowserContext], platform: Platform
) -> None:
    name = f"eve{uuid4().hex[:8]}"
    project = platform.project(name)
    page.goto("/settings/users")
    page.get_by_role("button", name="Add user").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("E-mail address").fill(f"{name}@example.org")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_role("button", name="Add user").click()
    page.get_by_role("button", name=f"Create sign-in link for {name}").click()
    link = page.get_by_role("dialog").locator("code").inner_text()
    assert violations(page) == []
    page.get_by_role("button", name="Close", exact=True).last.click()

    page.goto(f"/projects/{project}")
    page.get_by_label("E-mail address").fill(f"{name}@example.org")
    page.get_by_label("Role", exact=True).select_option("viewer")
    page.get_by_role("button", name="Add member").click()
    role = page.get_by_label(f"Role of {name}")
    expect(role).to_have_value("viewer")
    assert violations(page) == []

    invited = open_context(base_url=platform.url).new_page()
    invited.goto(link)
    invited.goto("/projects")
    expect(invited.get_by_role("listitem").get_by_text("Viewer")).to_be_visible()
    invited.goto(f"/projects/{project}")
    expect(invited.get_by_role("button", name="Leave project")).to_be_visible()
    expect(invited.get_by_role("button", name="Add member")).to_have_count(0)

    role.select_option("owner")
    invited.reload()
    expect(invited.get_by_role("button", name="Add member")).to_be_visible()
    page.get_by_role("button", name=f"Remove {name}").click()
    page.get_by_role("button", name="Remove member").click()
    expect(role).to_have_count(0)
    invited.reload()
    expect(invited.get_by_text("The project was not found")).to_be_visible()


def test_the_last_owner_stays_and_the_page_says_why(quiet: BrowserContext, platform: Platform) -> None:
    page = quiet.new_page()
    page.goto(f"/projects/{platform.project(f'own{uuid4().hex[:8]}')}")
    page.get_by_role("button", name="Leave project").click()
    page.get_by_role("dialog").get_by_role("button", name="Leave project").click()

    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("is the last owner")


def test_a_key_is_created_shown_once_and_revoked(page: Page, platform: Platform) -> None:
    name = f"laptop {uuid4().hex[:8]}"
    page.goto("/settings/access")
    expect(page.get_by_text("this browser")).to_be_visible()
    page.get_by_role("button", name="Create key").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Scope").select_option("read")
    page.get_by_role("dialog").get_by_role("button", name="Create key").click()
    key = page.get_by_role("dialog").locator("code").inner_text()
    assert key.startswith("omoi_")
    assert violations(page) == []
    page.get_by_role("button", name="Close", exact=True).last.click()

    row = page.get_by_role("listitem").filter(has_text=name)
    expect(row).to_contain_text(f"ends in {key[-4:]}")
    assert key not in page.content()
    page.get_by_role("button", name=f"Revoke {name}").click()
    page.get_by_role("button", name="Revoke key").click()
    expect(row.get_by_text("revoked")).to_be_visible()
    assert violations(page) == []
