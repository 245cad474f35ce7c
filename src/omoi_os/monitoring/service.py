"""Computes the overview."""

from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from omoi_os.accounts.models import User
from omoi_os.config import Settings
from omoi_os.credentials.resolver import model_names
from omoi_os.health import orchestrator_presence, versions
from omoi_os.health.api_warnings import Attendance
from omoi_os.health.orchestrator_presence import NAME as ORCHESTRATOR
from omoi_os.health.provider_availability import Availability
from omoi_os.monitoring import repository
from omoi_os.monitoring.repository import Spent
from omoi_os.monitoring.schemas import (
    DayOut,
    LimitsOut,
    OverviewOut,
    ProcessOut,
    ProviderOut,
    QueueOut,
    SandboxesOut,
    VersionsOut,
)
from omoi_os.sandboxes.lifecycle import SandboxState
from omoi_os.tasks.lifecycle import OPEN, TaskState
from omoi_os.tasks.outcomes import FINAL, Outcome
from omoi_os.visibility import restricted_to

DAYS = 14


async def overview(
    session: AsyncSession,
    settings: Settings,
    availability: Availability,
    attendance: Attendance,
    *,
    user: User,
    now: datetime,
) -> OverviewOut:
    """Return the overview of the projects that the user may see."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    since = today - timedelta(days=DAYS - 1)
    by_state = await repository.sandboxes(session, user=user, since=since)
    connected = await orchestrator_presence.connected_since(session, ORCHESTRATOR)
    shown = OverviewOut(
        generated_at=now,
        queue=await _queue(session, user=user, now=now),
        sandboxes=SandboxesOut(by_status={state: by_state.get(state, 0) for state in SandboxState}, days=DAYS),
        days=await _days(session, user=user, since=since),
        providers=[],
        versions=VersionsOut(
            omoi=versions.platform(),
            postgres=await repository.server_version(session),
            agent_sdk=versions.agent_sdk(),
            agent_cli=versions.agent_cli(),
            model=(await model_names(session, settings, [user.id]))[user.id].name,
        ),
        processes=[ProcessOut(name="orchestrator", since=moment) for moment in connected],
        warnings=await attendance.warnings(session, now=now),
    )
    alive = await repository.alive_by_provider(session, user=user)
    # Some providers are asked over the network: hold no transaction meanwhile.
    await session.commit()
    sees_everything = restricted_to(user.id, user.role) is None
    answers = await availability.of([settings.sandbox_provider, *alive])
    shown.providers = [
        ProviderOut(
            name=name,
            default=name == settings.sandbox_provider,
            available=tried.reason is None,
            reason=tried.reason if sees_everything else None,
            limits=LimitsOut.model_validate(tried.limits) if tried.limits else None,
            alive=alive.get(name, 0),
        )
        for name, tried in answers.items()
    ]
    return shown


async def _queue(session: AsyncSession, *, user: User, now: datetime) -> QueueOut:
    tasks = await repository.open_tasks(session, user=user)
    oldest = await repository.oldest_pending(session, user=user)
    return QueueOut(
        by_status={state: tasks.get(state, 0) for state in TaskState if state in OPEN},
        oldest_pending_seconds=max(0.0, (now - oldest).total_seconds()) if oldest else None,
    )


async def _days(session: AsyncSession, *, user: User, since: datetime) -> list[DayOut]:
    ended = await repository.ended_by_day(session, user=user, since=since)
    spent = await repository.spent_by_day(session, user=user, since=since)
    shown = []
    for day in (since.date() + timedelta(days=number) for number in range(DAYS)):
        by_outcome, cost = ended.get(day) or dict.fromkeys(FINAL, 0), spent.get(day, Spent(0.0, 0.0, 0))
        shown.append(
            DayOut(
                date=day,
                completed=by_outcome[Outcome.VERIFIED] + by_outcome[Outcome.UNCHECKED],
                failed=by_outcome[Outcome.FAILED],
                outcomes=by_outcome,
                cost_usd=cost.cost_usd,
                simulated_cost_usd=cost.simulated_cost_usd,
                cost_simulated=cost.simulated_cost_usd > 0,
                tokens=cost.tokens,
            )
        )
    return shown
