"""`omoi cleanup` stops orphaned sandboxes, and nothing else."""

from datetime import UTC, datetime, timedelta

from omoi_os.tasks.lifecycle import TaskState
from tests.cli.conftest import Desk, Json

LONG_AGO = datetime.now(UTC) - timedelta(hours=2)
JUST_NOW = datetime.now(UTC)


def test_it_lists_the_orphaned_sandboxes_and_stops_exactly_those_with_yes(desk: Desk) -> None:
    over, superseded, silent, lingering, finishing, at_work = all_of_them = desk.reporters(6)
    desk.post(lingering, ("agent.waiting", {"linger_seconds": 10_000}))
    old: Json = {"created_at": LONG_AGO, "last_work_at": LONG_AGO, "last_heartbeat_at": LONG_AGO}
    beating = old | {"last_heartbeat_at": JUST_NOW}
    desk.change(over, task={"status": TaskState.COMPLETED}, **beating)
    desk.change(superseded, task={"sandbox_id": at_work.id}, **beating)
    desk.change(silent, **old)
    desk.change(lingering, task={"status": TaskState.COMPLETED}, **beating)
    desk.change(finishing, task={"status": TaskState.COMPLETED}, last_work_at=JUST_NOW)

    proposed, asked = desk.omoi("cleanup"), desk.omoi("cleanup", "--dry-run")
    untouched = {status_of(desk, reporter.id) for reporter in all_of_them}
    done = desk.omoi("cleanup", "--yes")
    again = desk.omoi("cleanup", "--yes")

    listed = {line.split()[0]: line for line in proposed.stdout.splitlines()[1:] if line.startswith("omoios-")}
    assert set(listed) == {over.id, superseded.id, silent.id}
    assert "its task is completed" in listed[over.id]
    assert f"its task continues in {at_work.id}" in listed[superseded.id]
    assert "no heartbeat for 2 h" in listed[silent.id]
    assert "Nothing was changed." in proposed.stdout
    assert "these 3 sandboxes" in asked.stdout
    assert untouched == {"running"}
    assert done.returncode == 0
    assert f"{over.id}: stopping\n" in done.stdout
    stopping = {reporter.id for reporter in all_of_them if status_of(desk, reporter.id) == "stopping"}
    assert stopping == {over.id, superseded.id, silent.id}
    assert (again.returncode, again.stdout) == (0, "No orphaned sandboxes.\n")


def status_of(desk: Desk, sandbox_id: str) -> str:
    return str(desk.get(f"/sandboxes/{sandbox_id}").json()["status"])
