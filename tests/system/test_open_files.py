"""The limit on open files."""

import resource
import subprocess
import sys

import pytest

from omoi_os.system import open_files

RAISE = """
import resource
from omoi_os.system import open_files
resource.setrlimit(resource.RLIMIT_NOFILE, (256, int({hard})))
print(open_files.raise_limit())
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize("hard", [512, open_files.ENOUGH])
def test_a_process_raises_its_limit_and_says_when_that_is_too_low(hard: int) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
        pytest.skip(f"this machine allows fewer than {hard} open files")
    said = subprocess.run(
        [sys.executable, "-c", RAISE.format(hard=hard)], capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert said[-1] == f"{hard} {hard}"
    assert ("only 512 files" in said[0]) == (hard == 512)
