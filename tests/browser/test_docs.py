"""The description of the API at `/docs`."""

from playwright.sync_api import BrowserContext, expect

from tests.e2e.platform import Platform


def test_docs_renders_markdown_and_lists_values_and_limits(context: BrowserContext, platform: Platform) -> None:
    page = context.new_page()
    page.goto(f"{platform.url}/docs")

    expect(page.locator("#about li strong").first).to_have_text("Authentication")
    create = page.locator("#create_ticket")
    create.locator("summary").first.click()
    priority = create.locator("tr", has=page.locator("td:first-child code", has_text="priority")).first
    for value in ("LOW", "MEDIUM", "HIGH", "CRITICAL"):
        expect(priority.locator(".facts code", has_text=value).first).to_be_visible()
    expect(priority.locator(".facts")).to_contain_text('default "MEDIUM"')
    title = create.locator("tr", has=page.locator("td:first-child code", has_text="title *")).first
    expect(title.locator(".facts")).to_contain_text("characters: at most 300")
    assert "Calculate binomial coefficient" in create.locator("textarea").input_value()
    listed = page.locator("#list_tickets")
    listed.locator("summary").first.click()
    expect(listed.locator("tr", has_text="limit").first.locator(".facts")).to_contain_text("at least 1; at most 500")
