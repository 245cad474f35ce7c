"""Which files decide what checks prove."""

import pytest

from omoi_os.tasks.check_files import is_check_file, named_in


@pytest.mark.parametrize(
    "path",
    [
        "tests/helpers.py",
        "src/app/test_views.py",
        "pkg/store_test.go",
        "src/button.test.tsx",
        "conftest.py",
        "deep/down/conftest.py",
        "pytest.ini",
        "Makefile",
        "package.json",
        "web/package-lock.json",
        "pyproject.toml",
        "requirements-dev.txt",
        "Cargo.lock",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        "sitecustomize.py",
        "Dockerfile",
        "src/__snapshots__/a.snap",
    ],
)
def test_tests_builds_and_ci_are_check_files(path: str) -> None:
    assert is_check_file(path)


@pytest.mark.parametrize(
    "path",
    ["src/app.py", "README.md", "binomial.py", "latest.py", "docs/testing.md", "contest.txt", "test_" * 60],
)
def test_other_files_are_the_work_itself(path: str) -> None:
    assert not is_check_file(path)


def test_the_paths_that_commands_name_are_found() -> None:
    assert {"scripts/check.sh", "tools/verify.py"} <= named_in(
        ["./scripts/check.sh --all", "python3 tools/verify.py|cat"]
    )
