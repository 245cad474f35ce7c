"""The parameters of a sandbox, as they arrive at Daytona's API."""

from datetime import timedelta

import pytest

from omoi_os.errors import ProviderError
from omoi_os.providers.base import Resources
from omoi_os.providers.daytona.params import Source, create_params, resources
from omoi_os.providers.daytona.provider import DaytonaProvider
from tests.providers.conftest import MEBIBYTE, MakeSpec
from tests.providers.daytona.server import FakeDaytona


async def test_names_labels_and_intervals_arrive(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona
) -> None:
    spec = make_spec(labels={"task": "t1"}, lifetime=timedelta(minutes=90))

    await provider.create(spec)

    asked = server.named(spec.id).asked
    assert asked["snapshot"] == "ai-agent-dev-light"
    assert asked["labels"].items() >= {"omoi.owner": "tests", "omoi.sandbox": spec.id, "task": "t1"}.items()
    assert (asked["autoStopInterval"], asked["autoDeleteInterval"], asked["public"]) == (150, 60, False)
    assert "SANDBOX" not in str(asked.get("env"))


async def test_a_busy_sandbox_outlives_daytona_s_idle_timeout_of_15_minutes(
    provider: DaytonaProvider, make_spec: MakeSpec, server: FakeDaytona
) -> None:
    ref = await provider.create(make_spec(lifetime=timedelta(hours=1)))

    server.pass_time(minutes=60)
    after_an_hour = await provider.inspect(ref)
    server.pass_time(minutes=121)
    forgotten = await provider.inspect(ref)

    assert (after_an_hour.alive, forgotten.alive) == (True, False)


def test_limits_are_rounded_up_to_whole_units() -> None:
    asked = resources(Resources(5 * 512 * MEBIBYTE, cpus=1.5, pids=1, disk_bytes=1))

    assert (asked.memory, asked.cpu, asked.disk) == (3, 2, 1)


@pytest.mark.parametrize(
    ("gateway", "field", "value"),
    [
        ("https://omoi.example.org/x", "domain_allow_list", "omoi.example.org"),
        ("http://10.1.2.3:18001", "network_allow_list", "10.1.2.3/32"),
    ],
)
def test_the_gateway_is_the_only_way_out(make_spec: MakeSpec, gateway: str, field: str, value: str) -> None:
    params = create_params(make_spec(), Source(gateway=gateway), creation="c")

    assert getattr(params, field) == value


def test_the_package_index_can_be_reached_where_our_program_must_be_installed(make_spec: MakeSpec) -> None:
    source = Source(snapshot=None, gateway="https://omoi.example.org")

    params = create_params(make_spec(), source, creation="c")

    assert params.domain_allow_list == "omoi.example.org,pypi.org,files.pythonhosted.org"


def test_a_package_index_that_is_named_can_always_be_reached(make_spec: MakeSpec) -> None:
    source = Source(gateway="https://omoi.example.org", package_index="http://10.1.2.3:8080/simple/")

    params = create_params(make_spec(), source, creation="c")

    assert (params.domain_allow_list, params.network_allow_list) == ("omoi.example.org", "10.1.2.3/32")


def test_the_network_is_not_restricted_for_a_gateway_that_allow_lists_cannot_name(make_spec: MakeSpec) -> None:
    for gateway in (None, "http://127.0.0.1:18001"):
        params = create_params(make_spec(), Source(gateway=gateway), creation="c")
        assert (params.domain_allow_list, params.network_allow_list) == (None, None)


@pytest.mark.parametrize("changes", [{"argv": []}, {"env": {"A": "\0"}}, {"env": {"A=B": "c"}}])
def test_an_invalid_spec_is_refused_before_anything_is_created(make_spec: MakeSpec, changes: dict[str, object]) -> None:
    spec = make_spec(**{"argv": ["true"], **changes})
    if changes.get("argv") == []:
        spec = type(spec)(spec.id, spec.owner, [], spec.env, spec.resources, spec.lifetime)

    with pytest.raises(ProviderError, match=f"andbox {spec.id}"):
        create_params(spec, Source(), creation="c")
