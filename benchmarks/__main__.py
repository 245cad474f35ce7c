"""Run every benchmark and print one table."""

import argparse
import asyncio

from benchmarks import checkouts, growth, ingest, messages, spawn, stream, tool_boundaries, trajectories, web
from benchmarks.figures import HEADER
from benchmarks.machine import Machine

PARTS = (*("spawn", "ingest", "stream", "messages", "tool_boundaries", "trajectories", "growth", "web", "checkouts"),)


def main() -> None:
    """Measure the chosen parts and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="number of rounds (default: 10)")
    parser.add_argument("--only", choices=PARTS, help="measure only this part")
    chosen = parser.parse_args()
    parts = [chosen.only] if chosen.only else PARTS
    before = Machine.now()
    started = asyncio.run(spawn.measure(chosen.rounds)) if "spawn" in parts else []
    figures = spawn.figures(started) if started else []
    if "ingest" in parts:
        figures += ingest.figures(asyncio.run(ingest.measure(chosen.rounds)))
    if "stream" in parts:
        figures += asyncio.run(stream.measure(chosen.rounds))
    if "messages" in parts:
        figures += asyncio.run(messages.figures(chosen.rounds))
    if "tool_boundaries" in parts:
        figures += tool_boundaries.figures(chosen.rounds)
    if "trajectories" in parts:
        figures += asyncio.run(trajectories.measure(chosen.rounds))
    if "growth" in parts:
        figures += asyncio.run(growth.measure(chosen.rounds))
    if "web" in parts:
        figures += asyncio.run(web.measure(chosen.rounds))
    print(f"{chosen.rounds} rounds; {Machine.now().since(before)}")
    print(HEADER)
    for figure in figures:
        print(figure.line())
    if started:
        spawn.print_rest(started)
    if "checkouts" in parts:
        checkouts.report(checkouts.SIZES, chosen.rounds)


if __name__ == "__main__":
    main()
