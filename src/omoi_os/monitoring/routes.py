"""The overview: queue, sandboxes, the last days, and the state of the platform."""

from typing import Annotated

from fastapi import Depends, Request

from omoi_os.accounts.deps import CurrentUser
from omoi_os.health.api_warnings import Attendance
from omoi_os.health.provider_availability import Availability
from omoi_os.http.deps import AppSettings, DbSession, Now
from omoi_os.http.routers import make_router
from omoi_os.monitoring import service
from omoi_os.monitoring.schemas import OverviewOut

router = make_router("/monitoring", tags=["monitoring"], refusals=(401, 403, 422, 503))


async def _availability(request: Request) -> Availability:
    availability: Availability = request.app.state.availability
    return availability


async def _attendance(request: Request) -> Attendance:
    attendance: Attendance = request.app.state.attendance
    return attendance


@router.get("/overview", summary="Show the overview")
async def get_overview(
    user: CurrentUser,
    session: DbSession,
    settings: AppSettings,
    availability: Annotated[Availability, Depends(_availability)],
    attendance: Annotated[Attendance, Depends(_attendance)],
    now: Now,
) -> OverviewOut:
    """Return the queue, sandboxes, throughput and cost of the last days, providers, versions and processes.

    Only tasks and sandboxes that you may see are counted.
    """
    return await service.overview(session, settings, availability, attendance, user=user, now=now)
