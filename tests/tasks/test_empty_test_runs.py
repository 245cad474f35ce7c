"""Which outputs of test runners mean that no test was collected."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from omoi_os.tasks.empty_test_runs import no_tests_collected

UNITTEST_EMPTY = (
    "\n----------------------------------------------------------------------\nRan 0 tests in 0.000s\n\nOK\n"
)
UNITTEST_312 = UNITTEST_EMPTY.replace("OK", "NO TESTS RAN")
PYTEST_EMPTY = """============================= test session starts ==============================
platform linux -- Python 3.12.3, pytest-8.3.4, pluggy-1.5.0
rootdir: /workspace
collected 0 items

============================ no tests ran in 0.01s =============================
"""
PYTEST_DESELECTED = """collected 3 items / 3 deselected / 0 selected

============================ 3 deselected in 0.02s =============================
"""
NODE_EMPTY = "TAP version 13\n1..0\n# tests 0\n# suites 0\n# pass 0\n# fail 0\n# duration_ms 3.4\n"
NODE_SPEC_EMPTY = "\u2139 tests 0\n\u2139 suites 0\n\u2139 pass 0\n\u2139 fail 0\n"
NODE_EMPTY_FILE = """TAP version 13
# Subtest: /workspace/x.test.js
ok 1 - /workspace/x.test.js
  ---
  duration_ms: 65.71
  ...
1..1
# tests 1
# suites 0
# pass 1
"""
VITEST_EMPTY = """
 RUN  v3.0.5 /workspace

No test files found, exiting with code 0

include: **/*.{test,spec}.?(c|m)[jt]s?(x)
"""
VITEST_EMPTY_COLOURED = "\x1b[31mNo test files found, exiting with code 1\n\x1b[39m"
JEST_EMPTY = "No tests found, exiting with code 0\n"
GO_EMPTY = "?   \texample.com/app\t[no test files]\nok  \texample.com/app/api\t0.003s [no tests to run]\n"
CARGO_EMPTY = """     Running unittests src/lib.rs (target/debug/deps/c-d4fd4905425e6bfe)

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests c

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""


@pytest.mark.parametrize(
    ("exit_code", "output"),
    [
        (0, UNITTEST_EMPTY),
        (5, UNITTEST_312),
        (5, PYTEST_EMPTY),
        (0, PYTEST_EMPTY),
        (5, PYTEST_DESELECTED),
        (5, "\nno tests ran in 0.00s\n"),
        (0, NODE_EMPTY),
        (0, NODE_SPEC_EMPTY),
        (0, NODE_EMPTY_FILE),
        (0, VITEST_EMPTY),
        (1, VITEST_EMPTY_COLOURED),
        (0, JEST_EMPTY),
        (1, "No tests found, exiting with code 1\nRun with `--passWithNoTests` to exit with code 0\n"),
        (0, GO_EMPTY),
        (0, "testing: warning: no tests to run\nPASS\nok  \texample.com/app\t0.002s [no tests to run]\n"),
        (0, CARGO_EMPTY),
        (4, "    Starting 0 tests across 1 binary\nerror: no tests to run\n"),
        (0, UNITTEST_EMPTY.replace("\n", "\r\n")),
    ],
)
def test_a_run_without_any_test_is_recognised(exit_code: int, output: str) -> None:
    assert no_tests_collected(exit_code, output)


@pytest.mark.parametrize(
    ("exit_code", "output"),
    [
        (0, ""),
        (0, "126410606437752\n"),
        (0, "all tests 0 warnings\ntests 0\n3 apples in 4s\n"),
        (0, UNITTEST_EMPTY.replace("0 tests", "1 test")),
        (0, UNITTEST_EMPTY + UNITTEST_EMPTY.replace("0 tests", "12 tests")),
        (1, UNITTEST_EMPTY),
        (127, "sh: 1: pytest: not found\n"),
        (0, "collected 0 items\n" + "=" * 20 + " 4 passed in 0.02s " + "=" * 20 + "\n"),
        (0, "..\nRan 0 tests in 0.000s\n1 failed, 3 passed, 2 warnings in 1.20s\n"),
        (0, "5 skipped in 0.01s\nno tests ran in 0.00s\n"),
        (1, "No test files found\n"),
        (5, NODE_EMPTY),
        (0, NODE_EMPTY + NODE_EMPTY.replace("tests 0", "tests 3")),
        (0, NODE_EMPTY_FILE.replace("# tests 1", "# Subtest: works\nok 2 - works\n# tests 2")),
        (0, VITEST_EMPTY + "\n Test Files  1 passed (1)\n      Tests  3 passed (3)\n"),
        (0, JEST_EMPTY + "Tests:       5 passed, 5 total\n"),
        (0, GO_EMPTY + "ok  \texample.com/app/store\t0.004s\n"),
        (0, GO_EMPTY + "ok  \texample.com/app/store\t(cached)\n"),
        (0, "=== RUN   TestX\n--- PASS: TestX (0.00s)\nPASS\n" + GO_EMPTY),
        (0, CARGO_EMPTY.replace("running 0 tests", "running 2 tests", 1).replace("0 passed", "2 passed", 1)),
    ],
)
def test_a_run_with_a_test_or_without_a_test_runner_is_not_empty(exit_code: int, output: str) -> None:
    assert not no_tests_collected(exit_code, output)


def run(*argv: str, cwd: Path) -> tuple[int, str]:
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, env={"PATH": "/usr/local/bin:/usr/bin:/bin"})
    return done.returncode, done.stdout + done.stderr


PASSING = "import unittest\n\nclass Case(unittest.TestCase):\n    def test_it(self):\n        pass\n"


@pytest.mark.parametrize(
    "argv", [("-m", "unittest"), ("-m", "pytest", "-p", "no:cacheprovider"), ("-m", "pytest", "-q")]
)
def test_what_python_runners_really_print_is_understood(argv: tuple[str, ...], tmp_path: Path) -> None:
    assert no_tests_collected(*run(sys.executable, *argv, cwd=tmp_path))

    (tmp_path / "test_it.py").write_text(PASSING)

    assert not no_tests_collected(*run(sys.executable, *argv, cwd=tmp_path))


def test_the_time_grows_with_the_output_only() -> None:
    def seconds(size: int) -> float:
        worst = "=" * size + "\n" + "ok \t" * (size // 4) + "1 aaaa, " * (size // 8) + "\n" * size + "ok /" + "a" * size
        started = time.process_time()
        no_tests_collected(0, worst)
        return time.process_time() - started

    seconds(20_000)
    small, large = min(seconds(50_000) for _ in range(3)), seconds(500_000)
    assert large < 40 * max(small, 0.001)
