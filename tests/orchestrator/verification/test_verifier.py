"""What counts as done."""

from datetime import UTC, datetime
from uuid import uuid4

from omoi_os.bus.memory import MemoryBus
from omoi_os.db.base import Sessions
from omoi_os.forges.bare import git
from omoi_os.forges.local.forge import LocalForge
from omoi_os.forges.registry import make_forge
from omoi_os.masking import Masker
from omoi_os.orchestrator.verification import decisions, verifier
from omoi_os.projects.addresses import repository_of
from omoi_os.protocol.assignment import ExecutionMode
from omoi_os.protocol.events import Event, EventType
from omoi_os.sandboxes.ingest.careful_path import record_events
from omoi_os.tasks.lifecycle import TaskState
from omoi_os.tasks.models import Task
from omoi_os.tasks.repository import Requested
from omoi_os.tasks.verdict import Verdict
from tests.builders import a_project, a_task, a_ticket, a_work_sandbox
from tests.orchestrator.conftest import MakeContext


async def test_an_exploration_is_done_with_its_report_whatever_the_tickets_commands_say(
    sessions: Sessions, make_context: MakeContext
) -> None:
    context, bus, now = make_context(), MemoryBus(), datetime.now(UTC)
    async with sessions.begin() as session:
        project = await a_project(session)
        ticket = await a_ticket(session, project, acceptance=["test -f not-written-yet"])
        task = await a_task(session, bus, ticket, task_type=ExecutionMode.EXPLORATION)
        sandbox, _ = await a_work_sandbox(session, bus, task, now=now)
        report = {"success": True, "final_output": "It is small."}
        said = [Event(EventType.AGENT_STARTED, {}), Event(EventType.AGENT_COMPLETED, report)]
        await record_events(session, bus, sandbox.id, said, now=now, masker=Masker())
    forge = make_forge(project.forge, context.settings)
    await forge.ensure_repository(repository_of(project))
    await forge.create_branch(repository_of(project), task.branch_name or "")

    await verifier.verify(context)
    await context.jobs.finish("verify", timeout=30)

    async with sessions() as session:
        done = await session.get_one(Task, task.id)
    assert (done.status, done.error) == (TaskState.COMPLETED, None)
    assert done.result is not None
    assert (done.result["final_output"], done.result["checks"]) == ("It is small.", [])
    assert (done.result["verdict"], done.result["verified"]) == ("unchecked", False)


async def test_no_verdict_is_stored_for_a_commit_that_is_no_longer_the_head(
    sessions: Sessions, make_context: MakeContext
) -> None:
    context, bus, now = make_context(), MemoryBus(), datetime.now(UTC)
    async with sessions.begin() as session:
        project = await a_project(session)
        task = await a_task(session, bus, await a_ticket(session, project))
        sandbox, _ = await a_work_sandbox(session, bus, task, now=now)
        said = [Event(EventType.AGENT_STARTED, {}), Event(EventType.AGENT_COMPLETED, {"success": True})]
        await record_events(session, bus, sandbox.id, said, now=now, masker=Masker())
        task.lease_owner = context.owner
    forge, repository, branch = LocalForge(context.settings.repositories_dir), repository_of(project), task.branch_name
    await forge.ensure_repository(repository)
    base = await forge.create_branch(repository, branch or "")
    commits = []
    for name in ("checked", "pushed meanwhile"):
        made = await git.run("commit-tree", "-p", base, "-m", name, f"{base}^{{tree}}", git_dir=forge.path(repository))
        await git.run("update-ref", f"refs/heads/{branch}", made, git_dir=forge.path(repository))
        commits.append(made)

    await decisions.decide(context, task, project, decisions.Finding(commits[0], Verdict.VERIFIED, None))
    async with sessions() as session:
        undecided = await session.get_one(Task, task.id)
    await verifier.verify(context)
    await context.jobs.finish("verify", timeout=60)

    async with sessions() as session:
        done = await session.get_one(Task, task.id)
    assert undecided.status == TaskState.VERIFYING
    assert done.result is not None
    assert (done.status, done.result["commit_sha"]) == (TaskState.COMPLETED, commits[1])


def test_requested_verifications_take_turns_by_project() -> None:
    one, other = uuid4(), uuid4()
    requested = [Requested(uuid4(), project) for project in (one, one, one, other, other)]
    ids = [each.task_id for each in requested]

    assert verifier.in_turn(requested, running=frozenset()) == [ids[n] for n in (0, 3, 1, 4, 2)]
    assert verifier.in_turn(requested, running={ids[0], ids[1]}) == [ids[n] for n in (3, 4, 2)]
