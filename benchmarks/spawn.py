"""Measure the way from a ticket to a working agent: P1, P2, P3, P4 and P13, each next to its floor or peer."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.figures import Beside, Figure
from benchmarks.load import model_host
from benchmarks.load.model_host import Model
from benchmarks.load.tickets import Desk, Timeline
from benchmarks.peers import floors, queues
from tests.e2e.platform import Platform

_MEGABYTE = 1e6
_WARM = 2

#: How often short steps are measured in each round; the round's sample is the median.
_REPEATS = 5

#: The pause before each: tickets find the platform idle, so the floors start from an idle machine too.
_PAUSE_SECONDS = 0.1

#: Our processes in a sandbox; the others are the agent's.
_OURS = ("reporter", "supervisor", "bwrap", "init")


@dataclass(frozen=True, slots=True)
class Round:
    """One sample of everything, measured within seconds; times in milliseconds, memory in megabytes."""

    cold: Timeline
    warm: Timeline
    python: float
    agent: float
    bare_queue: float
    procrastinate: float | None
    idle: float

    @property
    def claim(self) -> float:
        """Return the time from the API's start on the ticket to its committed claim."""
        return (self.cold.claimed - self.cold.handled) * 1000

    def memory(self, *, ours: bool) -> float:
        """Return the memory of our processes in the working sandbox, or of all others there."""
        return sum(pss for process, pss in self.cold.processes if (process.kind in _OURS) == ours) / _MEGABYTE


async def measure(rounds: int) -> list[Round]:
    """Measure ours and the floors in turns, so that other load affects both."""
    await asyncio.to_thread(floors.compile_sdk)
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(model_host.serving())
        cold = await stack.enter_async_context(_desk(host))
        warm = await stack.enter_async_context(_desk(host, OMOI_WARM_SANDBOXES=str(_WARM)))
        database = await queues.make_database(cold.conninfo)
        bare = await stack.enter_async_context(queues.BareQueue(database).running())
        peer = None
        if queues.Procrastinate.installed():
            peer = await stack.enter_async_context(queues.Procrastinate(database).running())
        # The first ticket of a platform fills its caches and creates its repository.
        for desk, waiting in ((cold, 0), (warm, _WARM)):
            await desk.at_rest(waiting=waiting)
            await desk.run_ticket()
        return [await _round(cold, warm, host, bare=bare, peer=peer) for _ in range(rounds)]


async def _round(
    cold: Desk, warm: Desk, host: Model, *, bare: queues.BareQueue, peer: queues.Procrastinate | None
) -> Round:
    await cold.at_rest()
    resting = await warm.at_rest(waiting=_WARM)
    idle = [process.pss_bytes for process in resting if process.kind == "reporter"]
    cold_ticket = await cold.run_ticket()
    await cold.at_rest()
    python = await _repeated(floors.bubblewrap_and_python)
    agent = await floors.bubblewrap_and_agent(host)
    warm_ticket = await warm.run_ticket()
    await warm.at_rest(waiting=_WARM)
    return Round(
        cold=cold_ticket,
        warm=warm_ticket,
        python=python,
        agent=agent,
        bare_queue=await _repeated(bare.measure),
        procrastinate=None if peer is None else await _repeated(peer.measure),
        idle=median(idle) / _MEGABYTE,
    )


async def _repeated(measured: Callable[[], Awaitable[float]]) -> float:
    samples = []
    for _ in range(_REPEATS):
        await asyncio.sleep(_PAUSE_SECONDS)
        samples.append(await measured())
    return median(samples)


@asynccontextmanager
async def _desk(host: Model, **environment: str) -> AsyncIterator[Desk]:
    """Run a platform in a temporary folder, whose model calls end at our model host."""
    folder = Path(tempfile.mkdtemp(prefix="omoi-bench-", dir="/tmp"))
    platform = Platform(
        folder,
        prepared=None,
        ANTHROPIC_BASE_URL=host.url,
        ANTHROPIC_API_KEY="none",
        OMOI_MODEL="benchmark",
        OMOI_MAX_ATTEMPTS="1",
        OMOI_RECONCILE_SECONDS="10",
        **environment,
    )
    try:
        await asyncio.to_thread(platform.start)
        async with Desk(platform, host).opened() as desk:
            yield desk
    finally:
        if platform.process is not None and platform.process.poll() is None:
            await asyncio.to_thread(platform.stop)
        shutil.rmtree(folder, ignore_errors=True)


def figures(rounds: Sequence[Round]) -> list[Figure]:
    """Return the figures of the rounds."""
    python = Beside("bubblewrap + python -I -S", [each.python for each in rounds])
    agent = Beside("bubblewrap + SDK + first call", [each.agent for each in rounds])
    bare = Beside("SKIP LOCKED + NOTIFY", [each.bare_queue for each in rounds])
    limit = Beside("limit", [10.0] * len(rounds))
    theirs = Beside("agent: SDK and CLI", [each.memory(ours=False) for each in rounds])
    peer = [each.procrastinate for each in rounds if each.procrastinate is not None]
    claims = [each.claim for each in rounds]
    cold, warm = [each.cold for each in rounds], [each.warm for each in rounds]
    found = [
        Figure("P1 ticket → first durable event, cold", _after_post(cold, "durable"), python, goal=2.0),
        Figure("   the same as a client sees it", _after_post(cold, "seen"), python),
        Figure("P2 ticket → first model call, cold", _after_post(cold, "called"), agent, goal=1.3),
        Figure("P3 ticket → first model call, warm", _after_post(warm, "called"), agent, goal=0.4),
        Figure("   ticket → first durable event, warm", _after_post(warm, "durable"), python),
        Figure("P4 ticket → claimed", claims, bare, goal=1.3),
        *([Figure("P4 the same", claims, Beside("procrastinate", peer), goal=0.6)] if peer else []),
        Figure("P13 idle worker, PSS", [each.idle for each in rounds], limit, goal=1.0, unit="MB"),
    ]
    ours = [each.memory(ours=True) for each in rounds]
    return [*found, Figure("P13 our share of a working sandbox, PSS", ours, theirs, goal=0.1, unit="MB")]


def _after_post(timelines: Sequence[Timeline], step: str) -> list[float]:
    return [timeline.since_post(getattr(timeline, step)) for timeline in timelines]


#: Where the time goes: each step, as a difference of two moments.
_COLD_STEPS: dict[str, Callable[[Timeline], float]] = {
    "POST sent → API begins": lambda t: t.handled - t.posted,
    "API → ticket committed": lambda t: t.queued - t.handled,
    "wake-up and claim committed": lambda t: t.claimed - t.queued,
    "branch, until the provider begins": lambda t: t.folder - t.claimed,
    "provider: sandbox up": lambda t: t.up - t.folder,
    "worker's start, until its first event": lambda t: t.reported - t.up,
    "event on its way to the API": lambda t: t.received - t.reported,
    "event committed": lambda t: t.durable - t.received,
    "first event → agent's process": lambda t: t.agent - t.reported,
    "SDK loaded and repository cloned → CLI": lambda t: t.cli - t.agent,
    "CLI → model called": lambda t: t.called - t.cli,
}
_WARM_STEPS: dict[str, Callable[[Timeline], float]] = {
    "POST → claim committed": lambda t: t.claimed - t.posted,
    "branch, hand-over, first event": lambda t: t.reported - t.claimed,
    "event durable": lambda t: t.durable - t.reported,
    "first event → CLI": lambda t: t.cli - t.reported,
    "CLI → model called": lambda t: t.called - t.cli,
}


def _print_steps(title: str, timelines: Sequence[Timeline], steps: dict[str, Callable[[Timeline], float]]) -> None:
    print(f"\n{title + ': where the time goes, ms':<44} {'median':>8} {'least':>8}")
    for name, step in steps.items():
        samples = [step(timeline) * 1000 for timeline in timelines]
        print(f"  {name:<42} {median(samples):8.1f} {min(samples):8.1f}")


def print_rest(rounds: Sequence[Round]) -> None:
    """Print what was left out, and where the time goes."""
    if not queues.Procrastinate.installed():
        print("P4 beside procrastinate was left out: it is not installed (`uv sync --group bench`).")
    _print_steps("Cold", [each.cold for each in rounds], _COLD_STEPS)
    _print_steps("Warm", [each.warm for each in rounds], _WARM_STEPS)
