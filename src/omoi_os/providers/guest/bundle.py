"""The guest as one text, for sandboxes that do not have this package."""

import base64
import zlib
from functools import cache
from pathlib import Path

_PACKAGE = __name__.rpartition(".")[0]
#: Each module after those that it imports.
MODULES = ("kernel", "tail", "process_trees", "launch", "command", "usage", "files", "command_line_entry")


@cache
def boot_code() -> str:
    """Return Python code, without a single quote, that runs `command_line_entry.main` with the process's arguments."""
    packed = base64.b64encode(zlib.compress(source().encode(), 9)).decode()
    return f'import base64,zlib;exec(zlib.decompress(base64.b64decode("{packed}")))'


def source() -> str:
    """Return the program that the code unpacks."""
    folder = Path(__file__).parent
    sources = {f"{_PACKAGE}.{name}": (folder / f"{name}.py").read_text() for name in MODULES}
    start = f"load({sources!r})\nsys.exit(sys.modules['{_PACKAGE}.command_line_entry'].main(sys.argv[1:]))\n"
    return f"{(folder / 'loader.py').read_text()}\n{start}"
