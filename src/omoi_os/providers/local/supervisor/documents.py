"""Named lists of strings as bytes: the documents for a supervisor, which reads them without any import."""


def pack(fields: dict[str, list[str]]) -> bytes:
    """Encode each field as its name, its count and its items, each ended by a zero byte. Raises `ValueError`."""
    parts: list[str] = []
    for name, items in fields.items():
        parts += [name, str(len(items)), *items]
    if any("\0" in part for part in parts):
        raise ValueError("a command, path or variable must not contain a zero byte")
    return "".join(f"{part}\0" for part in parts).encode("utf-8", "surrogateescape")


def unpack(document: bytes) -> dict[str, list[str]]:
    """Decode the fields that `pack` encoded."""
    parts = document.decode("utf-8", "surrogateescape").split("\0")
    fields: dict[str, list[str]] = {}
    position = 0
    while position < len(parts) - 1:
        count = int(parts[position + 1])
        fields[parts[position]] = parts[position + 2 : position + 2 + count]
        position += 2 + count
    return fields
