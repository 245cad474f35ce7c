"""The beginning and the end of an output of any length."""


class Tail:
    """Keep the first and the last `size` bytes of what is added."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.head = bytearray()
        self.rest = bytearray()
        self.truncated = False

    def add(self, chunk: bytes) -> None:
        """Append more output."""
        free = self.size - len(self.head)
        self.head += chunk[:free]
        self.rest += chunk[free:]
        # Cutting only at twice the size keeps the cost per byte constant.
        if len(self.rest) > 2 * self.size:
            self._cut()

    def kept(self) -> bytes:
        """Return what was kept, in order."""
        self._cut()
        return bytes(self.head + self.rest)

    def _cut(self) -> None:
        if len(self.rest) > self.size:
            self.truncated = True
            del self.rest[: -self.size]
