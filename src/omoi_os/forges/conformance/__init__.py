"""What every forge must do, as checks that run against a real one.

`CHECKS` are async functions `check(bench)`. `judge` runs one check and `run` runs all of them.
"""

from omoi_os.conformance import Failed, Outcome
from omoi_os.forges.conformance.bench import Bench
from omoi_os.forges.conformance.guarantees import Check, Guarantee
from omoi_os.forges.conformance.suite import CHECKS, Result, judge, run

__all__ = ["CHECKS", "Bench", "Check", "Failed", "Guarantee", "Outcome", "Result", "judge", "run"]
