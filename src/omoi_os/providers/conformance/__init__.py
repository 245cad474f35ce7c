"""What every provider must do, as checks that run against a real one.

`CHECKS` are async functions `check(bench)`. `judge` runs one check and `run` all of them.
Known gaps are reported with their reasons.
"""

from omoi_os.conformance import Failed, Outcome
from omoi_os.providers.conformance.bench import Bench, Pace, Targets
from omoi_os.providers.conformance.guarantees import Check, Guarantee
from omoi_os.providers.conformance.suite import CHECKS, Report, Result, judge, known_gaps, run

__all__ = [
    "CHECKS",
    "Bench",
    "Check",
    "Failed",
    "Guarantee",
    "Outcome",
    "Pace",
    "Report",
    "Result",
    "Targets",
    "judge",
    "known_gaps",
    "run",
]
