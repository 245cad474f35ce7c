"""The board: create, find and watch tickets, and move between them with keys."""

import re
from collections.abc import Callable
from uuid import uuid4

from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.axe import violations
from tests.browser.runs import write_new_project
from tests.e2e.platform import Platform


def column(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=re.compile(f"^{name},"))


def card(within: Page | Locator, title: str) -> Locator:
    """Return the link of a card."""
    return within.get_by_role("link", name=title, exact=True)


def waiting_tickets(platform: Platform, *titles: str, **fields: str) -> str:
    """Create a project with tickets that depend on one that fails."""
    project_id = platform.project(f"waits-{uuid4().hex[:8]}")
    first = platform.post("/tickets", {"title": "Nobody knows how", "project_id": project_id})
    for title in titles:
        wanted = {"title": title, "project_id": project_id, "depends_on": [first["id"]], **fields}
        platform.post("/tickets", wanted)
    return project_id


def test_the_first_run_leads_to_a_finished_demo(
    platform: Platform, open_context: Callable[..., BrowserContext]
) -> None:
    name = f"new-{uuid4().hex[:8]}"
    user = platform.post("/users", {"email": f"{name}@example.org", "name": name, "role": "member"})
    key = platform.post(f"/users/{user['id']}/api-keys", {"name": "browser"})["key"]
    page = open_context(base_url=platform.url).new_page()
    page.goto("/")
    page.get_by_label("Or use an API key").fill(key)
    page.get_by_role("button", name="Sign in").click()

    page.get_by_role("button", name="Run demo task").click()
    page.wait_for_url("**/sandbox/*")
    page.get_by_role("link", name="See the result").click(timeout=90_000)

    expect(page.get_by_role("heading", name="Calculate binomial coefficient")).to_be_visible()
    expect(page.get_by_text("126410606437752", exact=False).first).to_be_visible()
    expect(page.get_by_text("feature/calculate-binomial-coefficient", exact=True)).to_be_visible()
    expect(page.get_by_text("passed", exact=True)).to_be_visible()

    page.goto("/")
    expect(page.get_by_text("The demo task is finished")).to_be_visible()
    expect(card(column(page, "Done"), "Calculate binomial coefficient")).to_be_visible()
    assert page.url == f"{platform.url}/"


def test_a_ticket_is_created_once_and_moves_to_done(page: Page, platform: Platform) -> None:
    platform.ticket("Nobody knows how")
    title, repository = f"binomial {uuid4().hex[:8]}", f"browser/{uuid4().hex[:8]}"
    page.goto("/")
    expect(column(page, "Done")).to_be_visible()
    page.keyboard.press("c")
    window = page.get_by_role("dialog", name="New ticket")
    window.get_by_label("Title").fill(title)
    write_new_project(window, repository)
    window.get_by_label("Acceptance commands").fill("python3 binomial.py\n")
    window.get_by_role("button", name="Create ticket").dblclick()

    expect(window).to_be_hidden()
    expect(card(page, title)).to_have_count(1)
    card(page, title).focus()
    expect(card(column(page, "Done"), title)).to_be_visible(timeout=90_000)
    expect(card(page, title).locator("..").get_by_text("Verified")).to_be_visible()
    expect(card(page, title)).to_be_focused()
    assert len(platform.get("/tickets", q=title)["items"]) == 1


def test_an_error_is_shown_at_its_field(page: Page, platform: Platform) -> None:
    platform.project(f"existing-{uuid4().hex[:8]}")
    page.goto("/")
    page.get_by_role("button", name="New ticket").click()
    window = page.get_by_role("dialog", name="New ticket")
    window.get_by_role("button", name="Create ticket").click()
    expect(window.get_by_label("Title")).to_have_accessible_description("Enter a title.")

    window.get_by_label("Title").fill("x")
    write_new_project(window, "-option/repository")
    window.get_by_role("button", name="Create ticket").click()
    refused = window.get_by_label("New project")
    expect(refused).to_have_accessible_description(re.compile("letters, digits"))


def test_filters_are_kept_in_the_address(page: Page, platform: Platform) -> None:
    project_id = waiting_tickets(platform, "Mend the login", "Mend the billing", priority="HIGH")
    page.goto(f"/?project={project_id}")
    expect(card(page, "Mend the billing")).to_be_visible()
    expect(card(page, "Nobody knows how")).to_be_visible()

    page.get_by_role("searchbox", name="Search tickets by title").fill("mend")
    page.get_by_label("Priority").select_option("HIGH")
    page.wait_for_url(re.compile("q=mend"))
    expect(card(page, "Nobody knows how")).to_have_count(0)
    page.reload()
    expect(card(page, "Mend the login")).to_be_visible()
    expect(card(page, "Nobody knows how")).to_have_count(0)

    card(page, "Mend the login").click()
    page.get_by_role("article").get_by_role("link", name="Board").click()
    page.wait_for_url(re.compile("q=mend"))
    assert "priority=HIGH" in page.url
    expect(card(page, "Mend the login")).to_be_visible()
    expect(card(page, "Nobody knows how")).to_have_count(0)

    page.get_by_role("searchbox", name="Search tickets by title").fill("nothing like it")
    expect(page.get_by_text("No tickets match these filters")).to_be_visible()


def test_a_new_ticket_preselects_the_filtered_project(page: Page, platform: Platform) -> None:
    project_id = waiting_tickets(platform)
    page.goto(f"/?project={project_id}")
    expect(card(page, "Nobody knows how")).to_be_visible()
    page.keyboard.press("c")
    window = page.get_by_role("dialog", name="New ticket")
    expect(window.get_by_label("Project", exact=True)).to_have_value(project_id)
    page.keyboard.type("Another one")
    page.keyboard.press("Control+Enter")
    expect(window).to_be_hidden()
    expect(card(page, "Another one")).to_be_visible()


def test_a_new_ticket_on_a_ticket_page_preselects_its_project(page: Page, platform: Platform) -> None:
    platform.project(f"another-{uuid4().hex[:8]}")
    project_id = waiting_tickets(platform, "The ticket that is shown")
    page.goto(f"/?project={project_id}")
    card(page, "The ticket that is shown").click()
    expect(page.get_by_role("heading", name="The ticket that is shown", level=1)).to_be_visible()
    page.keyboard.press("c")
    window = page.get_by_role("dialog", name="New ticket")
    expect(window.get_by_label("Project", exact=True)).to_have_value(project_id)


def test_a_new_ticket_says_that_no_model_is_configured(page: Page, platform: Platform) -> None:
    assert platform.get("/monitoring/overview")["versions"]["model"] == "scripted"
    page.goto("/sandbox/new")
    notice = page.get_by_role("note").filter(has_text="No model is configured.")
    expect(notice).to_contain_text("ANTHROPIC_API_KEY")
    page.get_by_role("button", name="New ticket").click()
    expect(page.get_by_role("dialog", name="New ticket").get_by_text("No model is configured.")).to_be_visible()


def test_a_phone_shows_columns_with_tickets_first(page: Page, platform: Platform) -> None:
    task = platform.ticket("Nobody knows how")
    platform.until(task["id"], "failed")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"/?project={task['project_id']}")
    expect(card(column(page, "Failed"), "Nobody knows how")).to_be_in_viewport(ratio=1)
    expect(column(page, "Done")).to_be_hidden()


def test_older_tickets_are_loaded_at_the_end(page: Page, platform: Platform) -> None:
    project_id = waiting_tickets(platform, *(f"Waits {number}" for number in range(55)))
    page.goto(f"/?project={project_id}")
    blocked = column(page, "Blocked")
    expect(blocked.get_by_text("50+")).to_be_visible()
    expect(card(blocked, "Waits 3")).to_have_count(0)

    blocked.get_by_role("button", name="Load older tickets").click()

    expect(card(blocked, "Waits 3")).to_have_count(1)
    expect(blocked.get_by_role("button", name="Load older tickets")).to_have_count(0)


def test_keys_move_among_cards_and_open_them(page: Page, platform: Platform) -> None:
    project_id = waiting_tickets(platform, "Upper", "Lower")
    page.goto(f"/?project={project_id}")
    expect(card(column(page, "Blocked"), "Upper")).to_be_visible()
    expect(card(column(page, "Failed"), "Nobody knows how")).to_be_visible()

    page.keyboard.press("j")
    expect(card(page, "Lower")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(card(page, "Upper")).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Lower", level=1)).to_be_visible()
    expect(page).to_have_title("Lower · OmoiOS")
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/sandboxes")


def test_keys_are_letters_in_inputs(page: Page, platform: Platform) -> None:
    platform.ticket("Nobody knows how")
    page.goto("/")
    page.get_by_role("searchbox", name="Search tickets by title").fill("")
    page.keyboard.type("c?gs")
    expect(page.get_by_role("searchbox", name="Search tickets by title")).to_have_value("c?gs")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_palette_finds_a_ticket_by_a_few_letters(page: Page, platform: Platform) -> None:
    word = uuid4().hex[:8]
    waiting_tickets(platform, f"Something about {word}")
    page.goto("/activity")
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()

    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("combobox").fill(word)
    page.get_by_role("option", name=f"Something about {word}").click()

    expect(page.get_by_role("heading", name=f"Something about {word}")).to_be_visible()


def test_the_shortcuts_of_a_page_are_listed(page: Page, platform: Platform) -> None:
    platform.ticket("Nobody knows how")
    page.goto("/")
    expect(column(page, "Done")).to_be_visible()
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys.get_by_text("New ticket")).to_be_visible()
    expect(keys.get_by_text("Next column")).to_be_visible()
    assert violations(page, "light") == []
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()


def test_nothing_is_visible_after_signing_out(page: Page, platform: Platform) -> None:
    platform.ticket("Nobody knows how")
    page.goto("/")
    page.get_by_role("button", name="Account").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in to OmoiOS")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Sign in to OmoiOS")).to_be_visible()


def test_everyone_can_use_the_board(page: Page, platform: Platform) -> None:
    project_id = waiting_tickets(platform, "One", "Two", ticket_type="bug")
    page.goto(f"/?project={project_id}")
    expect(card(page, "One")).to_be_visible()
    assert violations(page, "light") == []
    page.keyboard.press("c")
    expect(page.get_by_role("dialog", name="New ticket")).to_be_visible()
    assert violations(page, "light") == []
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option", name=re.compile("^Board"))).to_be_visible()
    assert violations(page, "light") == []
