"""Recognises test runs that collected no tests, from the output of the test runner."""

import re

#: Shown on a check whose test runner found nothing to run.
NO_TESTS = "no tests were collected"

#: Exit codes, besides 0, with which runners report an empty run.
_PYTHON_EXIT = 5  # pytest, and unittest from Python 3.12 on
_JAVASCRIPT_EXIT = 1  # vitest and jest, unless configured to pass without tests
_NEXTEST_EXIT = 4

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")

# One pass over the output: every alternative starts at the beginning of a line, and every repetition is bounded, so the
# time grows with the output only.
_NUMBER = r"[0-9]{1,9}"
_SECONDS = r"[0-9.]{1,12}s"
_COUNTS = rf"(?:{_NUMBER} \w{{4,12}}, ){{0,8}}"
_LINE = re.compile(
    r"^[ \t]{0,12}(?:"
    rf"Ran (?P<unittest>{_NUMBER}) tests? in {_SECONDS}"
    r"|(?P<pytest_none>collected 0 items\b)"
    rf"|(?:=+ )?(?P<pytest_empty>no tests ran|{_NUMBER} deselected(?:, {_NUMBER} warnings?)?) in {_SECONDS}"
    rf"|(?:=+ )?(?P<pytest_some>{_COUNTS}{_NUMBER} (?:passed|failed|errors?|skipped|xfailed|xpassed)\b)"
    rf"|[#\u2139] tests (?P<node>{_NUMBER})$"
    r"|(?:ok [0-9]{1,9} - |\u2714 )(?P<node_file>/[^\n]{1,400}\.[cm]?[jt]sx?)(?: \([0-9.]{1,12}ms\))?$"
    r"|(?P<javascript>No test files found|No tests found)\b(?:, exiting with code (?P<javascript_exit>[01]))?"
    rf"|Tests:?[ ]{{1,8}}(?P<javascript_some>{_NUMBER} (?:passed|failed|skipped|todo|pending)\b)"
    r"|(?P<go_none>\?[ \t]{1,8}\S{1,400}[ \t]{1,8}\[no test files\])"
    r"|(?P<go>ok[ \t]{1,8}\S{1,400}\t[^\n]{0,200})"
    r"|(?P<go_test>--- (?:PASS|FAIL|SKIP): )"
    rf"|running (?P<cargo>{_NUMBER}) tests?$"
    rf"|test result: \w{{2,10}}\. (?P<cargo_passed>{_NUMBER}) passed"
    r"|(?P<nextest>error: no tests to run)"
    r")",
    re.MULTILINE,
)
_GO_EMPTY = "[no tests to run]"


def no_tests_collected(exit_code: int, output: str) -> bool:
    """Report whether the command was a test run that found no tests at all.

    Only an exit code counts that the runner itself uses for an empty run. One package or section with tests is enough
    for the run not to be empty.
    """
    exits: set[int] = set()
    node_files = node_tests = 0
    for match in _LINE.finditer(_COLOUR.sub("", output).replace("\r\n", "\n")):
        if _shows_tests(match):
            return False
        if match["node_file"]:
            # Node counts a file without tests as one test that has the file's name.
            node_files += 1
            continue
        node_tests += int(match["node"] or 0)
        exits |= _exits_of(match)
    return node_tests <= node_files and exit_code in exits


def _shows_tests(match: re.Match[str]) -> bool:
    """Return whether this line reports that at least one test ran."""
    if match["pytest_some"] or match["javascript_some"] or match["go_test"]:
        return True
    if match["go"]:
        return _GO_EMPTY not in match["go"]
    return any(int(match[name] or 0) for name in ("unittest", "cargo", "cargo_passed"))


def _exits_of(match: re.Match[str]) -> set[int]:
    """Return the exit codes with which the runner that printed this line ends an empty run."""
    if match["unittest"] or match["pytest_none"] or match["pytest_empty"]:
        return {0, _PYTHON_EXIT}
    if match["javascript"]:
        return {0, _JAVASCRIPT_EXIT} if match["javascript_exit"] == "1" else {0}
    return {_NEXTEST_EXIT} if match["nextest"] else {0}
