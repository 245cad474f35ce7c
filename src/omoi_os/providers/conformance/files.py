"""Files are written and read unchanged, and no link leads elsewhere."""

import asyncio

from omoi_os.conformance import Failed, collector, expect
from omoi_os.errors import ProviderError
from omoi_os.protocol import paths
from omoi_os.providers import checkout_folder
from omoi_os.providers.base import SandboxRef
from omoi_os.providers.conformance import host
from omoi_os.providers.conformance.bench import Bench
from omoi_os.providers.conformance.guarantees import Check, Guarantee

CHECKS: list[Check] = []
_check = collector(CHECKS)

_ROOTS = (paths.WORKSPACE, paths.HOME)


@_check(Guarantee.FILES)
async def binary_files_come_back_unchanged(bench: Bench) -> None:
    """Every byte value, an empty file, and line ends of all kinds are kept."""
    ref = await bench.shared()
    for root in _ROOTS:
        for content in (bytes(range(256)), b"", b"a\r\nb\rc\n\n", b"\xff\xfe\x00"):
            await _round_trip(bench, ref, f"{root}/binary", content)


@_check(Guarantee.FILES)
async def big_files_come_back_unchanged(bench: Bench) -> None:
    """Eight megabytes are written and read unchanged."""
    await _round_trip(bench, await bench.shared(), f"{paths.WORKSPACE}/big", bytes(range(256)) * 32768)


@_check(Guarantee.FILES)
async def a_workspace_begins_with_its_checkout_or_empty_and_never_changes_it(bench: Bench) -> None:
    """All files of a prepared checkout are there and writable, or none is; the checkout itself never changes."""
    with host.folder() as folder:
        checkout_folder.make_folder(folder / "one")
        for name in ("kept", "removed"):
            (checkout_folder.tree_of(folder / "one") / name).write_text("prepared\n")
        ref = await bench.make(checkout=folder / "one")
        listed = (await bench.sh(ref, "ls -A", cwd=paths.WORKSPACE)).stdout.split()
        expect(listed in ([], [b"kept", b"removed"]), f"the workspace starts with {listed}")
        change = "echo new >> kept && rm -f removed && echo new > added && ls -A"
        changed = await bench.sh(ref, change, cwd=paths.WORKSPACE)
        expect(changed.stdout == b"added\nkept\n", f"its files cannot be changed: {changed}")
        found = {path.name: path.read_text() for path in checkout_folder.tree_of(folder / "one").iterdir()}
        expect(found == {"kept": "prepared\n", "removed": "prepared\n"}, f"the checkout was changed: {found}")
        await bench.provider.destroy(ref)


@_check(Guarantee.FILES)
async def parent_folders_are_made(bench: Bench) -> None:
    """Missing folders of a file are created, and commands may write beside it."""
    ref = await bench.shared()
    for root in _ROOTS:
        await _round_trip(bench, ref, f"{root}/one/two/three/file", b"deep")
        beside = await bench.sh(ref, 'echo more >> "$1/file" && echo new > "$1/new"', f"{root}/one/two/three")
        expect(beside.exit_code == 0, f"commands cannot use what was written: {beside.stderr.decode(errors='replace')}")


@_check(Guarantee.FILES)
async def a_file_is_replaced(bench: Bench) -> None:
    """Writing again leaves nothing of the longer content that was there."""
    ref = await bench.shared()
    await _round_trip(bench, ref, f"{paths.WORKSPACE}/twice", b"long " * 1000)
    await _round_trip(bench, ref, f"{paths.WORKSPACE}/twice", b"short")


@_check(Guarantee.FILES)
async def unicode_and_odd_names_work(bench: Bench) -> None:
    """Names may contain other scripts, blanks, quotes and dashes."""
    ref = await bench.shared()
    for name in ("Grüße 思い 🪶", "a b", 'it\'s "x"', "-rf", "$HOME", "%41", "new\nline", ".hidden"):
        await _round_trip(bench, ref, f"{paths.WORKSPACE}/odd/{name}", name.encode())
    seen = await bench.ask(ref, "import json, os; print(json.dumps(len(os.listdir('odd'))))")
    expect(seen == 8, f"8 files were written and {seen} exist")


@_check(Guarantee.FILES)
async def a_missing_file_is_reported(bench: Bench) -> None:
    """A missing file raises `FileNotFoundError`, and so does a missing folder on the way."""
    ref = await bench.shared()
    for path in (f"{paths.WORKSPACE}/missing", f"{paths.HOME}/no/such/file"):
        try:
            content = await bench.within(bench.provider.read_file(ref, path), "read_file")
        except FileNotFoundError:
            continue
        raise Failed(f"{path} does not exist, but was read as {content[:80]!r}")


@_check(Guarantee.FILES)
async def what_commands_write_can_be_read(bench: Bench) -> None:
    """`read_file` and commands see the same home and workspace."""
    ref = await bench.shared()
    for root in _ROOTS:
        await bench.sh(ref, 'printf inside > "$1/theirs"', root)
        found = await bench.within(bench.provider.read_file(ref, f"{root}/theirs"), "read_file")
        expect(found == b"inside", f"a command's file in {root} was read as {found[:80]!r}")


@_check(Guarantee.FILES)
async def several_files_are_written_at_once(bench: Bench) -> None:
    """Twelve concurrent writers do not mix up their files."""
    ref = await bench.shared()
    contents = {f"{paths.HOME}/many/{number}": str(number).encode() * 50_000 for number in range(12)}
    await asyncio.gather(*(_round_trip(bench, ref, path, content) for path, content in contents.items()))


@_check(Guarantee.FILES)
async def paths_outside_home_and_workspace_are_refused(bench: Bench) -> None:
    """Every path that leads, or could lead, elsewhere raises `ProviderError`."""
    ref = await bench.shared()
    for path in ("/etc/passwd", f"{paths.WORKSPACE}/../etc/passwd", "relative", f"{paths.WORKSPACE}x/a"):
        await _expect_refused(bench, ref, path)


@_check(Guarantee.ISOLATION)
async def planted_links_lead_to_nothing_of_the_host(bench: Bench) -> None:
    """A link made inside does not make `read_file` or `write_file` touch the host's files."""
    ref = await bench.make()
    with host.secret_file() as (path, secret):
        planted = await bench.sh(ref, 'ln -s "$1" link && ln -s "${1%/*}" folder', str(path))
        expect(planted.exit_code == 0, f"the links could not be created: {planted.stderr.decode(errors='replace')}")
        for name in ("link", f"folder/{path.name}"):
            try:
                content = await bench.provider.read_file(ref, f"{paths.WORKSPACE}/{name}")
            except (ProviderError, OSError):
                continue
            expect(secret.encode() not in content, f"{name}, a link planted inside, gave the host's file")
        try:
            await bench.provider.write_file(ref, f"{paths.WORKSPACE}/folder/new", b"x")
        except (ProviderError, OSError):
            return
        expect(not path.with_name("new").exists(), "a link planted inside led a write to the host's folder")


async def _round_trip(bench: Bench, ref: SandboxRef, path: str, content: bytes) -> None:
    await bench.within(bench.provider.write_file(ref, path, content), "write_file")
    found = await bench.within(bench.provider.read_file(ref, path), "read_file")
    expect(
        found == content,
        f"{path!r} was written with {len(content)} bytes and read as {len(found)}, or as different ones",
    )


async def _expect_refused(bench: Bench, ref: SandboxRef, path: str) -> None:
    for call in (bench.provider.read_file(ref, path), bench.provider.write_file(ref, path, b"x")):
        try:
            await bench.within(call, "a file's call")
        except ProviderError:
            continue
        raise Failed(f"{path!r} was not refused")
