"""Every surface names the four outcomes in the same words: the API, the commands and the metrics."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from omoi_os.tasks.outcomes import FINAL, LABELS, Outcome
from tests.api_process import Reporter
from tests.cli.conftest import Desk, lines_of_json

PASSED = {"command": "make test", "exit_code": 0, "output": ""}


def result(verdict: str, *checks: dict[str, Any]) -> dict[str, Any]:
    return {
        "final_output": "",
        "commit_sha": "0" * 40,
        "verdict": verdict,
        "verified": verdict == "verified",
        "checks": list(checks),
    }


#: What the database holds of an attempt and its task for each outcome. All four workers exited as they should.
ENDED: dict[Outcome, tuple[dict[str, Any], dict[str, Any]]] = {
    Outcome.VERIFIED: ({"verdict": "verified"}, {"status": "completed", "result": result("verified", PASSED)}),
    Outcome.UNCHECKED: ({"verdict": "unchecked"}, {"status": "completed", "result": result("unchecked")}),
    Outcome.FAILED: (
        {"verdict": "failed"},
        {"status": "failed", "error": "it failed", "result": result("failed", PASSED | {"exit_code": 1})},
    ),
    Outcome.NO_RESULT: ({}, {"status": "cancelled"}),
}


def metrics(desk: Desk) -> dict[str, float]:
    headers = {"Authorization": f"Bearer {desk.api.environment['OMOI_ADMIN_TOKEN']}"}
    text = httpx.get(f"{desk.api.url}/metrics", headers=headers, trust_env=False).text
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}


@dataclass(frozen=True)
class Ended:
    """One ended attempt for each outcome."""

    attempts: dict[Outcome, Reporter]
    before: dict[str, float]


@pytest.fixture
def ended(desk: Desk) -> Ended:
    before = metrics(desk)
    made = dict(zip(FINAL, desk.reporters(len(FINAL)), strict=True))
    now = datetime.now(UTC)
    for outcome, (sandbox, task) in ENDED.items():
        fields = {"status": "stopped", "ended_at": now, "end_reason": "its work is done"}
        desk.change(
            made[outcome], **fields | sandbox, task=task | {"completed_at": now, "sandbox_id": made[outcome].id}
        )
    return Ended(made, before)


def test_the_api_answers_the_outcome_of_tasks_sandboxes_tickets_and_days(desk: Desk, ended: Ended) -> None:
    for outcome, reporter in ended.attempts.items():
        sandbox = desk.get(f"/sandboxes/{reporter.id}").json()
        task = desk.get(f"/tasks/{sandbox['task_id']}").json()
        ticket = desk.get(f"/tickets/{task['ticket_id']}").json()
        assert [sandbox["outcome"], task["outcome"], ticket["outcome"]] == [outcome] * 3
        assert task in ticket["tasks"]
    listed = {each["id"]: each["outcome"] for each in desk.get("/sandboxes?limit=50").json()["items"]}
    assert {outcome: listed[each.id] for outcome, each in ended.attempts.items()} == {each: each for each in FINAL}
    today = desk.get("/monitoring/overview").json()["days"][-1]
    assert all(today["outcomes"][outcome] >= 1 for outcome in FINAL)
    assert today["completed"] == today["outcomes"]["verified"] + today["outcomes"]["unchecked"]


def test_the_commands_name_the_outcome(desk: Desk, ended: Ended) -> None:
    listed = desk.omoi("sandboxes", "--limit", "4")
    rows = {line.split("  ")[0]: line for line in listed.stdout.splitlines()}
    as_json = {each["id"]: each["outcome"] for each in lines_of_json(desk.omoi("sandboxes", "--json").stdout)}
    ids = [each.id for each in ended.attempts.values()]
    compared = desk.omoi("compare", *ids, COLUMNS="240").stdout
    told = json.loads(desk.omoi("compare", *ids, "--json").stdout)["sandboxes"]
    (line,) = [line for line in compared.splitlines() if line.startswith("outcome ")]

    assert [cell.strip() for cell in line.split("  ") if cell.strip()] == ["outcome", *map(LABELS.get, FINAL)]
    assert [each["outcome"] for each in told] == list(FINAL)
    for outcome, reporter in ended.attempts.items():
        assert f"stopped  {LABELS[outcome]} " in rows[reporter.id]
        assert as_json[reporter.id] == outcome
        verified = desk.omoi("verify", reporter.id)
        fault = f"FAILED   result       the outcome is {LABELS[outcome]}"
        assert (fault in verified.stdout) == (outcome != Outcome.VERIFIED)


def test_the_metrics_count_tasks_and_attempts_by_outcome(desk: Desk, ended: Ended) -> None:
    after = metrics(desk)

    for name in ("omoi_tasks_ended", "omoi_attempts_ended"):
        for outcome in FINAL:
            key = f'{name}{{outcome="{outcome}"}}'
            assert after[key] - ended.before[key] == 1, key


def test_an_attempt_whose_result_is_being_checked_is_in_progress(desk: Desk) -> None:
    (reporter,) = desk.reporters(1)
    now = datetime.now(UTC)
    desk.change(reporter, status="stopped", ended_at=now, end_reason="its work is done", task={"status": "verifying"})

    assert desk.get(f"/sandboxes/{reporter.id}").json()["outcome"] == "in_progress"
    desk.change(reporter, task={"status": "cancelled", "completed_at": now})
    assert desk.get(f"/sandboxes/{reporter.id}").json()["outcome"] == "no_result"


def test_simulated_cost_is_labelled_wherever_money_is_shown(desk: Desk) -> None:
    paid, simulated, mixed = desk.reporters(3)
    costs = {paid.id: (0.5, 0.0), simulated.id: (0.25, 0.25), mixed.id: (0.75, 0.25)}
    for reporter in (paid, simulated, mixed):
        cost, part = costs[reporter.id]
        desk.change(
            reporter,
            **{"cost_usd": cost, "simulated_cost_usd": part},
            task={"cost_usd": cost, "simulated_cost_usd": part},
        )

    for reporter in (paid, simulated, mixed):
        sandbox = desk.get(f"/sandboxes/{reporter.id}").json()
        task = desk.get(f"/tasks/{sandbox['task_id']}").json()
        ticket = desk.get(f"/tickets/{task['ticket_id']}").json()
        for shown in (sandbox, task, ticket):
            assert (shown["cost_usd"], shown["simulated_cost_usd"]) == costs[reporter.id]
            assert shown["cost_simulated"] == (reporter is not paid)
    today = desk.get("/monitoring/overview").json()["days"][-1]
    assert today["cost_simulated"]
    assert today["simulated_cost_usd"] <= today["cost_usd"] - 1.0

    listed = desk.omoi("sandboxes", "--limit", "3").stdout
    compared = desk.omoi("compare", paid.id, simulated.id, mixed.id, COLUMNS="240").stdout
    for text in (listed, compared):
        assert "$0.5000  " in text
        assert "$0.2500 simulated" in text
        assert "$0.7500 ($0.2500 simulated)" in text
    told = metrics(desk)
    money = {(each, label): told.get(_cost(each, label)) for each in costs for label in ("true", "false")}
    assert [money[(paid.id, label)] for label in ("true", "false")] == [None, 0.5]
    assert [money[(simulated.id, label)] for label in ("true", "false")] == [0.25, None]
    assert [money[(mixed.id, label)] for label in ("true", "false")] == [0.25, 0.5]


def _cost(sandbox_id: str, simulated: str) -> str:
    return f'omoi_sandbox_cost_usd{{provider="local",sandbox_id="{sandbox_id}",simulated="{simulated}"}}'
