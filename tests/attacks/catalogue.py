"""The named attacks on a sandbox's walls, each as checks that must pass, and that must fail where there is no wall."""

import os
from collections.abc import Mapping, Sequence

from omoi_os.providers.conformance import Bench, Check, Outcome, isolation, network, run
from tests.attacks import bombs, calls, daemons, secrets, walls
from tests.attacks import network as ways

#: By their numbers in the list of attacks that this project answers for.
ATTACKS: Mapping[str, Sequence[Check]] = {
    "11_secrets_of_the_platform": (
        isolation.the_launchers_environment_is_not_seen,
        isolation.processes_of_the_host_are_not_seen,
        *secrets.SECRETS,
    ),
    "12_the_hosts_keyring": (isolation.keys_of_the_host_are_not_found, *secrets.KEYS),
    "19_addresses_of_the_host": (
        network.services_of_the_host_are_out_of_reach,
        network.the_clouds_metadata_is_out_of_reach,
        network.services_of_other_sandboxes_are_out_of_reach,
        *ways.REACH,
    ),
    "23_carrying_data_out": (network.names_of_the_internet_are_not_resolved, *ways.CARRY),
    "25_files_and_sockets_of_the_host": (
        isolation.files_of_the_host_are_not_seen,
        isolation.files_of_other_sandboxes_are_not_seen,
        *walls.READ,
    ),
    "26_writing_mounting_and_privileges": (
        isolation.the_system_cannot_be_changed,
        isolation.no_namespace_can_be_made,
        isolation.there_are_no_privileges,
        *walls.CHANGE,
    ),
    "27_dangerous_calls_and_tracing": calls.CHECKS,
    "28_bombs": bombs.BOMBS,
    "29_daemons": daemons.CHECKS,
    "31_typing_into_a_terminal": walls.TYPE,
    "32_sockets_and_descriptors": (
        network.abstract_sockets_of_the_host_are_out_of_reach,
        isolation.no_descriptor_is_inherited,
        *walls.CONNECT,
    ),
}

#: What an ordinary user cannot do without isolation either.
_FOR_ROOT = {
    "the_system_cannot_be_changed",
    "nothing_can_be_mounted",
    "neither_devices_nor_root_can_be_had",
    "passwords_of_the_system_cannot_be_read",
    "no_program_can_be_put_among_the_systems",
    "no_echo_comes_back",
}


async def stopped(bench: Bench, attack: str) -> None:
    """Fail if any part of the attack succeeds."""
    report = await run(bench, ATTACKS[attack])
    open_ways = [f"{result.check}: {result.sentence}" for result in report.results if result.outcome is Outcome.FAILED]
    assert not open_ways, "\n".join(open_ways)
    gaps = [result.check.name for result in report.of(Outcome.GAP)]
    assert not gaps or bench.provider.limits_warning, gaps


async def succeeds(bench: Bench, attack: str, *, but: Mapping[str, str] | None = None) -> None:
    """Fail if any part of the attack does not succeed, but those that cannot here, each with its reason."""
    excused = {*(but or {}), *bombs.unlimited(), *(() if os.geteuid() == 0 else _FOR_ROOT)}
    report = await run(bench, ATTACKS[attack])
    harmless = [result.check.name for result in report.results if result.outcome is not Outcome.FAILED]
    assert set(harmless) <= excused, harmless
    confused = ("unexpected", "the question was not answered")
    errors = [f"{result.check}: {result.sentence}" for result in report.results if result.sentence.startswith(confused)]
    assert not errors, "\n".join(errors)
