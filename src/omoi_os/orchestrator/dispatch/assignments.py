"""Build the environment and the assignment of a sandbox. They hold no secret but the sandbox's own token."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from omoi_os.config import Settings
from omoi_os.errors import ProviderUnavailable
from omoi_os.forges.branches import wip_branch
from omoi_os.forges.registry import make_mirrors
from omoi_os.orchestrator.dispatch.gateway_folders import make_gateway_folder
from omoi_os.projects.addresses import git_path, repository_of
from omoi_os.projects.models import Project
from omoi_os.protocol.assignment import INLINE_DESCRIPTION_BYTES, Assignment, ExecutionMode
from omoi_os.protocol.paths import GATEWAY_PORT, HOME
from omoi_os.providers.base import Layered, Resources, SandboxProvider, SandboxSpec
from omoi_os.sandboxes.lifecycle import ENDED
from omoi_os.sandboxes.models import Sandbox
from omoi_os.tasks.models import Task
from omoi_os.tasks.verification import acceptance_of
from omoi_os.tickets.models import Ticket
from omoi_os.worker.command import gateway_port_argv, worker_argv

#: The share of a sandbox's lifetime after which its agent is stopped, so that there is time to submit its work.
_WORK_SHARE = 0.9

_GIB = 1024**3

#: The variables of a worker's environment that people may see: neither the token nor what the task already shows.
_SHOWN = (
    *("PATH", "HOME", "LANG", "TERM", "SANDBOX_ID", "TASK_ID", "USER_ID", "PROJECT_ID", "GITHUB_REPO_OWNER"),
    *("GITHUB_REPO_NAME", "BRANCH_NAME", "CALLBACK_URL", "MESSAGE_POLL_URL", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"),
    *("EXECUTION_MODE", "MAX_TURNS", "MAX_BUDGET_USD"),
)


@dataclass(frozen=True, slots=True)
class Work:
    """A claimed task with its ticket, project, sandbox row, token and provider."""

    task: Task
    ticket: Ticket
    project: Project
    sandbox: Sandbox
    token: str
    provider: SandboxProvider


def budget_of(settings: Settings, project: Project, ticket: Ticket) -> float | None:
    """Return the task's budget: the smallest of the ticket's, the project's and the installation's limit."""
    limits = (ticket.budget_usd, project.settings.get("budget_usd"), settings.max_budget_usd)
    return min((limit for limit in limits if limit is not None), default=None)


def work_spec(settings: Settings, work: Work, *, owner: str) -> SandboxSpec:
    """Return the spec of the sandbox in which an agent works on a task."""
    runtime = work.provider.runtime
    spec = make_spec(
        settings,
        work.provider,
        sandbox_id=work.sandbox.id,
        owner=owner,
        argv=worker_argv(runtime.python, runtime.source),
        env=work_environment(settings, work),
    )
    mirror = _mirror(settings, work)
    return replace(spec, mirror=mirror, checkout=_checkout(settings, work, mirror), labels=_labels(work))


def verify_spec(settings: Settings, work: Work, *, owner: str) -> SandboxSpec:
    """Return the spec of a fresh sandbox for checks, which are run from outside. Inside, only the gateway port runs."""
    runtime = work.provider.runtime
    common = _common_environment(settings, work)
    spec = make_spec(
        settings,
        work.provider,
        sandbox_id=work.sandbox.id,
        owner=owner,
        argv=gateway_port_argv(runtime.python, runtime.source),
        env={**common, "EXECUTION_MODE": ExecutionMode.VALIDATION, **_git_environment(work.token)},
    )
    return replace(spec, mirror=_mirror(settings, work), labels=_labels(work))


def make_spec(
    settings: Settings,
    provider: SandboxProvider,
    *,
    sandbox_id: str,
    owner: str,
    argv: list[str],
    env: Mapping[str, str],
) -> SandboxSpec:
    """Return a spec of this installation's size and lifetime, with a gateway socket if the provider supports one."""
    return SandboxSpec(
        id=sandbox_id,
        owner=owner,
        argv=argv,
        env=env,
        resources=Resources(
            memory_bytes=int(settings.sandbox_memory_gb * _GIB),
            cpus=settings.sandbox_cpu,
            pids=settings.sandbox_pids,
            disk_bytes=int(settings.sandbox_disk_gb * _GIB),
        ),
        lifetime=timedelta(seconds=settings.sandbox_lifetime_seconds),
        gateway_folder=make_gateway_folder(settings, sandbox_id) if provider.has_gateway_socket else None,
    )


def git_url(settings: Settings, work: Work) -> str:
    """Return the URL of the project's repository inside a sandbox."""
    return f"{_gateway_url(settings, work.provider)}{git_path(work.project)}"


def _labels(work: Work) -> dict[str, str]:
    return {"sandbox_id": work.sandbox.id, "task_id": str(work.task.id), "purpose": work.sandbox.purpose}


def _mirror(settings: Settings, work: Work) -> Path | None:
    """Return the repository on this machine from which a clone may take its objects, or None."""
    if not settings.prepared_checkouts or not work.provider.has_gateway_socket:
        return None
    return make_mirrors(work.project.forge, settings).find(repository_of(work.project))


def takes_checkouts(settings: Settings, provider: SandboxProvider) -> bool:
    """Return whether this provider's workspaces are overlays on a prepared checkout."""
    wanted = settings.prepared_checkouts and settings.overlay_checkouts
    return wanted and isinstance(provider, Layered) and provider.has_checkouts


def _checkout(settings: Settings, work: Work, mirror: Path | None) -> Path | None:
    """Return the prepared checkout below the workspace, or None; its objects are the mirror's."""
    if mirror is None or not takes_checkouts(settings, work.provider):
        return None
    return make_mirrors(work.project.forge, settings).checkout(repository_of(work.project))


def _gateway_url(settings: Settings, provider: SandboxProvider) -> str:
    """Return the gateway's address inside a sandbox: a loopback port, or its public address."""
    if provider.has_gateway_socket:
        return f"http://127.0.0.1:{GATEWAY_PORT}"
    if settings.callback_url is None:
        raise ProviderUnavailable(
            f"sandboxes of {provider.name} reach the gateway over the network: set CALLBACK_URL to its https address"
        )
    return settings.callback_url.rstrip("/")


def _common_environment(settings: Settings, work: Work) -> dict[str, str]:
    task, project = work.task, work.project
    gateway = _gateway_url(settings, work.provider)
    own = f"{gateway}/api/v1/sandboxes/{work.sandbox.id}"
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "SANDBOX_ID": work.sandbox.id,
        "TASK_ID": str(task.id),
        "USER_ID": str(work.ticket.created_by),
        "PROJECT_ID": str(project.id),
        "GITHUB_REPO_OWNER": project.github_owner or "",
        "GITHUB_REPO_NAME": project.github_repo or "",
        "BRANCH_NAME": task.branch_name or "",
        "CALLBACK_URL": f"{own}/events",
        "MESSAGE_POLL_URL": f"{own}/messages",
        "ANTHROPIC_BASE_URL": gateway,
        "ANTHROPIC_AUTH_TOKEN": work.token,
    }


def work_environment(settings: Settings, work: Work) -> dict[str, str]:
    """Return the worker's whole environment, including the assignment."""
    task = work.task
    fits = len(task.description.encode()) <= INLINE_DESCRIPTION_BYTES
    assignment = Assignment(
        sandbox_id=work.sandbox.id,
        task_id=str(task.id),
        attempt=task.attempt,
        title=task.title,
        description=task.description if fits else None,
        branch_name=task.branch_name or "",
        default_branch=work.project.default_branch,
        git_url=git_url(settings, work),
        acceptance=acceptance_of(work.project, work.ticket),
        mode=task.task_type,
        feedback=task.feedback,
        model=work.sandbox.model,
        max_turns=settings.max_turns,
        max_budget_usd=work.sandbox.budget_usd,
        linger_seconds=task.linger_seconds,
        max_seconds=settings.sandbox_lifetime_seconds * _WORK_SHARE,
        spool_bytes=settings.spool_mb * 1024 * 1024,
        wip_branch=wip_branch(task.id, attempt=work.sandbox.attempt) if work.sandbox.fence < task.fence else None,
        has_ended=work.sandbox.status in ENDED or work.sandbox.fence < task.fence,
    )
    environment = {
        **_common_environment(settings, work),
        "TASK_DESCRIPTION": task.description if fits else f"{task.title} (the whole text: GET …/task)",
        "TASK_DATA_BASE64": assignment.encode(),
        "ANTHROPIC_MODEL": work.sandbox.model or settings.model_name,
        "EXECUTION_MODE": assignment.mode,
        "MAX_TURNS": str(assignment.max_turns),
    }
    if assignment.max_budget_usd is not None:
        environment["MAX_BUDGET_USD"] = str(assignment.max_budget_usd)
    return environment


def shown_environment(settings: Settings, work: Work) -> dict[str, str]:
    """Return the part of the worker's environment that people may see."""
    environment = work_environment(settings, work)
    return {name: environment[name] for name in _SHOWN if environment.get(name)}


def _git_environment(token: str) -> dict[str, str]:
    """Return variables that make git send the token to the gateway, without a command line or a file that shows it."""
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "http.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Bearer {token}",
    }
