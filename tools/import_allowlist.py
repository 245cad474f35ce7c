"""The import-linter contract `allowlist`: each package names the packages that it may import."""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import grimp
from importlinter import Contract, ContractCheck, fields, output


class AllowlistContract(Contract):
    """Compare the imports between the packages of one root with a table.

    `packages` has a line for each package: its name, a colon, and the names that it may import. An import that is not
    in the table breaks the contract, and so does an entry that nothing uses. Two packages that import each other need a
    line in `mutual`: both names, a colon, and the reason. Apart from those pairs, imports must not form a cycle.
    """

    root = fields.StringField()
    packages = fields.ListField(subfield=fields.StringField())
    mutual = fields.ListField(subfield=fields.StringField(), required=False)

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Find imports that are not allowed, entries that are not used, and cycles without a reason."""
        allowed = {name: set(rest.split()) for name, rest in map(_entry, self.packages)}  # type: ignore[call-overload]
        reasons = {frozenset(pair.split()) for pair, _ in map(_entry, self.mutual or ())}  # type: ignore[call-overload]
        found = self._imports(graph)
        problems = []
        for importer in sorted(allowed.keys() | found.keys()):
            used, may = found.get(importer, {}), allowed.get(importer, set())
            problems += [f"{importer} may not import {name}: {used[name]}" for name in sorted(used.keys() - may)]
            problems += [f"{importer} does not import {name}; remove it" for name in sorted(may - used.keys())]
        pairs = {frozenset((one, other)) for one in found for other in found[one] if one in found.get(other, ())}
        problems += [f"{' and '.join(sorted(pair))} import each other without a reason" for pair in pairs - reasons]
        problems += [f"{' and '.join(sorted(pair))} no longer import each other" for pair in reasons - pairs]
        if not problems:
            problems += _cycle(found, reasons)
        return ContractCheck(kept=not problems, metadata={"problems": sorted(problems)})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line for each problem."""
        for problem in check.metadata["problems"]:
            output.print_error(problem)

    def _imports(self, graph: grimp.ImportGraph) -> dict[str, dict[str, str]]:
        """Map each package to the packages it imports, each with one import as an example."""
        root: Any = self.root
        found: dict[str, dict[str, str]] = {}
        for module in sorted(graph.modules):
            for target in sorted(graph.find_modules_directly_imported_by(module)):
                one, other = _package(module, root), _package(target, root)
                if one and other and one != other:
                    found.setdefault(one, {}).setdefault(other, f"{module} imports {target}")
        return found


def _entry(line: str) -> tuple[str, str]:
    name, _, rest = line.partition(":")
    return name.strip(), rest.strip()


def _package(module: str, root: str) -> str | None:
    """Return the name below the root; None for the root itself and for modules outside of it."""
    return module.split(".")[1] if module.startswith(f"{root}.") else None


def _cycle(found: Mapping[str, Iterable[str]], mutual: Iterable[frozenset[str]]) -> list[str]:
    """Describe a cycle of imports, if there is one once packages that may import each other count as one."""
    group = {name: name for importer in found for name in (importer, *found[importer])}
    for pair in mutual:
        one, other = (group[name] for name in sorted(pair))
        group = {name: one if leader == other else leader for name, leader in group.items()}
    graph: dict[str, set[str]] = {}
    for importer, imported in found.items():
        graph.setdefault(group[importer], set()).update({group[name] for name in imported} - {group[importer]})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # The sorter lists each package before the one that imports it.
        return [f"imports form a cycle: {' imports '.join(reversed(error.args[1]))}"]
    return []
