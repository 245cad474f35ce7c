"""The plugin that `make check` uses: a skip is a failure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent.parent.parent / "tools"

SKIPS_ONE = "import pytest\ndef test_one(): pytest.skip('no user namespaces')\n"
SKIPS_ALL = "import pytest\npytest.skip('no user namespaces', allow_module_level=True)\n"
KNOWN_GAP = "import pytest\ndef test_one(): pytest.xfail('no control groups')\n"
RUNS = "def test_one(): pass\n"


def run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no_skips", "-c", "/dev/null", "--rootdir", folder, folder],
        env={**os.environ, "PYTHONPATH": str(TOOLS)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("text", [SKIPS_ONE, SKIPS_ALL])
def test_a_skipped_test_fails_the_run_with_its_reason(tmp_path: Path, text: str) -> None:
    answer = run(tmp_path, text)

    assert answer.returncode != 0
    assert "no user namespaces" in answer.stdout


@pytest.mark.parametrize("text", [RUNS, KNOWN_GAP])
def test_a_run_without_skips_passes_known_gaps_included(tmp_path: Path, text: str) -> None:
    assert run(tmp_path, text).returncode == 0
