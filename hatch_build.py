"""Has the web page built before the package is, also when it is installed to be edited."""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from tools import page


class PageHook(BuildHookInterface):  # type: ignore[type-arg,misc,unused-ignore]
    """The page's part in every build."""

    def dependencies(self) -> list[str]:
        """Node as a package, where the machine has none that will do."""
        root = Path(self.root)
        needs_node = page.is_wanted(root, os.environ) and not page.is_current(root) and not page.has_node(os.environ)
        return [page.NODE_PACKAGE] if needs_node else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page unless it is current."""
        if page.build(Path(self.root), os.environ):
            self.app.display_info("The web page was built.")
