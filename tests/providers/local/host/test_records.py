"""The documents in a sandbox's folder are read as this release writes them, and as an earlier one did."""

import json
from pathlib import Path

import pytest

from omoi_os.providers.local.host import records

SPEC = {
    "id": "omoios-1",
    "owner": "tests",
    "labels": {},
    "resources": {"memory_bytes": 1, "cpus": 1, "pids": 1, "disk_bytes": 1},
    "mirror": None,
    "checkout": None,
    "uid": None,
    "image": False,
}


@pytest.mark.parametrize("key", ["gateway_folder", "door"])
def test_the_gateway_folder_is_read_under_its_old_name_too(tmp_path: Path, key: str) -> None:
    (tmp_path / records.SPEC).write_text(json.dumps({**SPEC, key: "/data/sockets/1"}))

    spec = records.read_spec(tmp_path)

    assert spec is not None
    assert (spec["gateway_folder"], "door" in spec) == ("/data/sockets/1", False)
