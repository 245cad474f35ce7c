"""What every agent driver must do, as checks that run a real driver process against a scripted model.

`CHECKS` are async functions `check(bench)` that raise `Failed` with what they saw. A test provides the model and the
folders, and runs each check with a new `Bench`:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_conformance(check: Check, model: Model, folder: Path) -> None:
        async with Bench(model, folder, name="claude") as bench:
            await check(bench)
"""

from omoi_os.worker.agents.conformance import conversation, messages, robustness, sessions
from omoi_os.worker.agents.conformance.bench import Bench, Check, Failed
from omoi_os.worker.agents.conformance.model import Model, Refuse, Reply, RunCommand, Step

#: Every behaviour that an agent driver must have.
CHECKS: tuple[Check, ...] = (*conversation.CHECKS, *messages.CHECKS, *sessions.CHECKS, *robustness.CHECKS)

__all__ = ["CHECKS", "Bench", "Check", "Failed", "Model", "Refuse", "Reply", "RunCommand", "Step"]
