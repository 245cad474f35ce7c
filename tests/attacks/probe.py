"""What a hostile agent can find and reach; run inside a sandbox, and outside it as the positive control."""

import json
import os
import socket
import sys
from pathlib import Path


def readable(path: str) -> bool:
    try:
        if os.path.isdir(path):  # noqa: PTH112
            return bool(os.listdir(path))  # noqa: PTH208
        with open(path, "rb") as file:  # noqa: PTH123
            return bool(file.read(1))
    except OSError:
        return False


def writable(folder: str) -> bool:
    name = os.path.join(folder, "omoi-probe")  # noqa: PTH118
    try:
        with open(name, "w"):  # noqa: PTH123
            pass
        os.unlink(name)  # noqa: PTH108
    except OSError:
        return False
    return True


def answers(address: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.settimeout(2)
        try:
            probe.connect((address, port))
        except OSError:
            return False
        return True


def resolves(name: str) -> bool:
    try:
        return bool(socket.getaddrinfo(name, 443))
    except OSError:
        return False


def process_texts() -> str:
    """Every environment and command line that can be read."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            for name in ("environ", "cmdline"):
                try:
                    found.append((entry / name).read_bytes().decode(errors="replace"))
                except OSError:
                    continue
    return "\n".join(found)


def main() -> None:
    asked = json.loads(Path(sys.argv[1]).read_text())
    texts = process_texts()
    interfaces = sorted(name for _, name in socket.if_nameindex())
    report = {
        "env": dict(os.environ),
        "secrets_in_proc": [secret for secret in asked["secrets"] if secret in texts],
        "readable": [path for path in asked["paths"] if readable(path)],
        "writable": [path for path in asked["folders"] if writable(path)],
        "answering": [target for target in asked["targets"] if answers(target[0], target[1])],
        "resolves": resolves("example.org"),
        "interfaces": interfaces,
        "uid": os.getuid(),
        "capabilities": [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Cap")],
        "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd")),  # noqa: PTH208
        "processes": [name for name in os.listdir("/proc") if name.isdigit()],  # noqa: PTH208
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
