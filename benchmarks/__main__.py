"""Every benchmark, one after the other, in one table."""

import argparse
import asyncio

from benchmarks import checkouts, growth, hearing, ingest, messages, reading, spawn, stream, web
from benchmarks.figures import HEADER
from benchmarks.machine import Machine

PARTS = ("spawn", "ingest", "stream", "messages", "hearing", "reading", "growth", "web", "checkouts")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="how often everything is measured (default: 10)")
    parser.add_argument("--only", choices=PARTS, help="one part alone")
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
    if "hearing" in parts:
        figures += hearing.figures(chosen.rounds)
    if "reading" in parts:
        figures += asyncio.run(reading.measure(chosen.rounds))
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
