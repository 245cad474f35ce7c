"""Run axe, which finds accessibility violations, on a page."""

from pathlib import Path

import axe_playwright_python  # type: ignore[import-untyped]
from playwright.sync_api import Page

_AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()

_FIND = """async (theme) => {
  document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event("themechange"));
  const ends = (each) => each.effect.getTiming().iterations !== Infinity;
  await Promise.all(document.getAnimations().filter(ends).map((each) => each.finished.catch(() => null)));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const { violations } = await axe.run({ resultTypes: ["violations"] });
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}"""


def violations(page: Page, *themes: str) -> list[str]:
    """Return the violations in each theme, once all animations have ended."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(_AXE)
    found: list[str] = []
    for theme in themes or ("light", "dark"):
        found += [f"{theme}: {wrong[:400]}" for wrong in page.evaluate(_FIND, theme)]
    return found
