"""What a failed check could not find."""

import pytest

from omoi_os.orchestrator.verification.check_output import Kind, Missing, find_missing
from omoi_os.tasks.verdict import Check


@pytest.mark.parametrize(
    ("exit_code", "output", "name"),
    [
        (127, "/bin/sh: 1: pytest: not found\n", "pytest"),
        (127, "bash: line 1: cargo: command not found\n", "cargo"),
        (127, "starting\n./run.sh: line 3: go: command not found\n", "go"),
        (127, "/bin/sh: 1: ./missing.sh: not found\n", "./missing.sh"),
        (126, "/bin/sh: 1: ./check.sh: Permission denied\n", "./check.sh"),
        (126, "bash: ./x: /usr/bin/ruby: bad interpreter: No such file or directory\n", "/usr/bin/ruby"),
        (127, "nothing that names it\n", ""),
        (2, "make: pytest: No such file or directory\nmake: *** [Makefile:2: test] Error 127\n", "pytest"),
        (1, "env: \u2018node\u2019: No such file or directory\n", "node"),
        (1, 'go: exec: "gcc": executable file not found in $PATH\n', "gcc"),
    ],
)
def test_a_missing_command_is_named(exit_code: int, output: str, name: str) -> None:
    assert find_missing(Check("x", exit_code, output)) == (Missing(Kind.COMMAND, name),)


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ("/usr/bin/python3: No module named pytest\n", "pytest"),
        ("Traceback (most recent call last):\n  ...\nModuleNotFoundError: No module named 'yaml.cyaml'\n", "yaml"),
        ("E   ModuleNotFoundError: No module named 'requests'\n1 error in 0.1s\n", "requests"),
        ("Error: Cannot find module 'express/lib'\nRequire stack:\n- /workspace/app.js\n", "express"),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@acme/ui' imported from /workspace/a.mjs\n", "@acme/ui"),
    ],
)
def test_a_missing_module_is_named_by_its_top_level(output: str, name: str) -> None:
    assert find_missing(Check("x", 1, output)) == (Missing(Kind.MODULE, name),)


@pytest.mark.parametrize(
    ("exit_code", "output"),
    [
        (0, "/bin/sh: 1: pytest: not found\n"),
        (1, "AssertionError: 41 != 42\n"),
        (1, "Error: Cannot find module './helper'\n"),
        (1, "python3: can't open file '/workspace/x.py': [Errno 2] No such file or directory\n"),
        (1, "configure: 7: cc: not found\n" + "checking …\n" * 20 + "1 failed\n"),
    ],
)
def test_other_failures_miss_nothing(exit_code: int, output: str) -> None:
    assert find_missing(Check("x", exit_code, output)) == ()
