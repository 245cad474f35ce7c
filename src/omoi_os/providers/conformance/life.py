"""Sandboxes are created, found, kept apart and destroyed as requested."""

import asyncio
from collections.abc import Awaitable, Callable

from omoi_os.conformance import Failed, collector, expect
from omoi_os.errors import ProviderError, SandboxGone
from omoi_os.protocol import paths
from omoi_os.providers.base import SandboxRef
from omoi_os.providers.conformance.bench import Bench
from omoi_os.providers.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)

_PLACE = (
    "import json, os; print(json.dumps([os.getcwd(), os.access('.', os.W_OK), os.access(os.environ['HOME'], os.W_OK)]))"
)


@_check(Guarantee.LIFE)
async def the_provider_says_what_it_is(bench: Bench) -> None:
    """It has a name, a site, a runtime and a warning, which stay the same."""
    provider, again = bench.provider, bench.factory()
    expect(provider.name and provider.site, f"name is {provider.name!r}, site is {provider.site!r}")
    expect(provider.site == again.site, f"a restart changes the site from {provider.site!r} to {again.site!r}")
    for path in (provider.runtime.python, provider.runtime.source):
        expect(path.startswith("/"), f"{path!r} of its runtime is not an absolute path")
    expect(isinstance(provider.has_gateway_socket, bool), f"has_gateway_socket is {provider.has_gateway_socket!r}")
    expect(provider.limits_warning is None or provider.limits_warning.strip(), "limits_warning is empty, not None")


@_check(Guarantee.LIFE)
async def the_first_process_starts_in_the_workspace(bench: Bench) -> None:
    """It runs in the workspace, and may write there and in its home."""
    found = await bench.ask_first(_PLACE)
    expect(
        found == [paths.WORKSPACE, True, True], f"where it runs, and whether workspace and home are writable: {found}"
    )


@_check(Guarantee.LIFE)
async def several_sandboxes_are_made_at_once(bench: Bench) -> None:
    """Four sandboxes that are created at once are all alive."""
    refs = await asyncio.gather(*(bench.make() for _ in range(4)))
    expect(len(set(refs)) == 4, f"four sandboxes have the references {refs}")
    alive = [(await bench.provider.inspect(ref)).alive for ref in refs]
    expect(all(alive), f"of four sandboxes, these are alive: {alive}")


@_check(Guarantee.LIFE)
async def one_id_is_never_made_twice(bench: Bench) -> None:
    """Of several calls that create the same id, one succeeds and the others raise `ProviderError`."""
    spec = bench.spec()
    results = await asyncio.gather(*(bench.create(spec) for _ in range(3)), return_exceptions=True)
    made = [result for result in results if isinstance(result, str)]
    refused = [result for result in results if isinstance(result, ProviderError)]
    expect((len(made), len(refused)) == (1, 2), f"of three calls that created one id, {len(made)} succeeded: {results}")
    try:
        second: object = await bench.create(spec)
    except ProviderError as error:
        second = error
    expect(isinstance(second, ProviderError), "an id was created twice")
    expect((await bench.provider.inspect(SandboxRef(made[0]))).alive, "a refused second creation ended the first")


@_check(Guarantee.LIFE)
async def only_its_owner_lists_a_sandbox(bench: Bench) -> None:
    """Alive and ended sandboxes are listed for their owner and no other."""
    owner, stranger = f"{bench.owner}-a", f"{bench.owner}-b"
    alive = await bench.make(owner=owner)
    ended = await bench.make(["/bin/sh", "-c", ":"], owner=owner)
    others = await bench.make(owner=stranger)
    await bench.end_of(ended)
    expect(
        await bench.refs(owner) == {alive, ended},
        f"{alive} and {ended} were created, and {await bench.refs(owner)} is listed",
    )
    expect(await bench.refs(stranger) == {others}, f"{others} was created, and {await bench.refs(stranger)} is listed")


@_check(Guarantee.LIFE)
async def a_listed_sandbox_has_the_id_of_its_spec(bench: Bench) -> None:
    """`list` returns the id of the spec with the reference that `create` returned, also after a restart."""
    spec = bench.spec()
    ref = await bench.create(spec)
    bench.restart()
    listed = [found async for found in bench.provider.list(owner=bench.owner) if found.ref == ref]
    expect([found.id for found in listed] == [spec.id], f"{ref} was created for {spec.id}, listed is {listed}")


@_check(Guarantee.LIFE)
async def sandboxes_are_found_again_after_a_restart(bench: Bench) -> None:
    """A new provider object lists, inspects and uses sandboxes of an older one."""
    ref = await bench.make()
    await bench.provider.write_file(ref, f"{paths.WORKSPACE}/kept", b"kept")
    bench.restart()
    expect(ref in await bench.refs(), "after a restart it is not listed")
    expect((await bench.provider.inspect(ref)).alive, "after a restart it is not alive")
    result = await bench.exec(ref, ["cat", "kept"])
    expect(result.stdout == b"kept", f"after a restart a command gave {result}")
    await bench.provider.destroy(ref)
    expect(ref not in await bench.refs(), "after a restart it cannot be destroyed")


@_check(Guarantee.LIFE)
async def destroying_twice_succeeds(bench: Bench) -> None:
    """Destroying twice succeeds, also at the same time, and also for a sandbox that never existed."""
    ref = await bench.make()
    await asyncio.gather(bench.provider.destroy(ref), bench.provider.destroy(ref))
    await bench.within(bench.provider.destroy(ref), "destroying again")
    await bench.within(
        bench.provider.destroy(SandboxRef("omoios-check-never-made")), "destroying a sandbox that never existed"
    )
    expect(ref not in await bench.refs(), "it was destroyed and is still listed")


@_check(Guarantee.LIFE)
async def an_ended_sandbox_can_be_destroyed(bench: Bench) -> None:
    """A sandbox whose first process has ended is destroyed like any other."""
    ref = await bench.make(["/bin/sh", "-c", "echo > left"])
    await bench.end_of(ref)
    await bench.within(bench.provider.destroy(ref), "destroy")
    expect(ref not in await bench.refs(), "it was destroyed and is still listed")


@_check(Guarantee.LIFE)
async def destroying_a_busy_sandbox_ends_its_commands(bench: Bench) -> None:
    """A running command gets an error at once, and the sandbox is gone."""
    ref = await bench.make()
    busy = asyncio.ensure_future(
        bench.exec(ref, bench.code("import time; open('up', 'w').write('x'); time.sleep(3600)"))
    )
    await bench.file_of(ref, "up")
    await bench.within(bench.provider.destroy(ref), "destroy")
    done, _ = await asyncio.wait([busy], timeout=bench.pace.notice.total_seconds())
    if not done:
        busy.cancel()
        await asyncio.wait([busy])
    expect(done, "a command still runs in a sandbox that was destroyed")
    expect(isinstance(busy.exception(), ProviderError), f"the command in a destroyed sandbox ended with {busy}")
    expect(ref not in await bench.refs(), "it was destroyed while busy and is still listed")


@_check(Guarantee.LIFE)
async def what_was_destroyed_is_gone(bench: Bench) -> None:
    """Every other method raises `SandboxGone` for a destroyed sandbox."""
    ref = await bench.make()
    await bench.provider.destroy(ref)
    await _expect_gone(bench, ref)


@_check(Guarantee.LIFE)
async def what_never_was_is_gone(bench: Bench) -> None:
    """Every other method raises `SandboxGone` for an unknown reference."""
    await _expect_gone(bench, SandboxRef("omoios-check-never-made"))


@_check(Guarantee.LIFE)
async def a_cancelled_creation_leaves_nothing(bench: Bench) -> None:
    """A creation that is cancelled at any moment leaves no sandbox, and its id is free."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    before = {*await bench.refs(), await bench.make()}
    took = loop.time() - began
    for share in (0.0, 0.2, 0.4, 0.6, 0.8):
        spec = bench.spec()
        making = asyncio.ensure_future(bench.create(spec))
        await asyncio.wait([making], timeout=share * took)
        making.cancel()
        await asyncio.wait([making])
        if making.cancelled():
            left = await bench.refs() - before
            expect(not left, f"cancelled after {share * took:.3f} s of about {took:.3f} s, a creation left {left}")
            before.add(await bench.create(spec))
        else:
            before.add(making.result())


@_check(Guarantee.LIFE)
async def a_program_that_is_not_there_is_reported(bench: Bench) -> None:
    """The creation fails and leaves nothing, or the sandbox ends with 126 or 127."""
    before = await bench.refs()
    try:
        ref = await bench.make(["/no/such/program"])
    except ProviderError:
        left = await bench.refs() - before
        expect(not left, f"a creation that failed left {left}")
        return
    report = await bench.end_of(ref)
    expect(report.exit_code in (126, 127), f"a first process that does not exist was reported as {report}")


async def _expect_gone(bench: Bench, ref: SandboxRef) -> None:
    provider, path = bench.provider, f"{paths.WORKSPACE}/file"
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "exec": lambda: provider.exec(ref, ["true"], timeout=bench.pace.patience),
        "write_file": lambda: provider.write_file(ref, path, b""),
        "read_file": lambda: provider.read_file(ref, path),
        "inspect": lambda: provider.inspect(ref),
        "inspect with a wait": lambda: provider.inspect(ref, wait=bench.pace.short),
    }
    for name, call in calls.items():
        try:
            answer = await bench.within(call(), name)
        except SandboxGone:
            continue
        except (ProviderError, OSError) as error:
            raise Failed(f"{name} raised {type(error).__name__} instead of SandboxGone: {error}") from error
        raise Failed(f"{name} of a sandbox that is gone returned {answer!r}")
