"""What a client of the stream is sent."""

from uuid import uuid4

from omoi_os.stream.client import Client, Subscription, Viewer
from omoi_os.stream.filters import Filter
from omoi_os.stream.position import Position
from omoi_os.stream.reader import Item


class Recorder:
    """A socket that records every frame."""

    buffered = 0

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def write(self, frame: bytes) -> None:
        self.frames.append(frame)

    def hang_up(self, code: int, reason: str) -> None:
        raise AssertionError(reason)

    async def drained(self) -> None:
        pass


def _item(number: int) -> Item:
    return Item(Position(number, 1, 0), "task.status", uuid4(), None, frozenset(), b"%d" % number)


def test_a_dropped_client_resumes_where_its_slowest_subscription_is() -> None:
    viewer = Viewer(credential_id=uuid4(), user_id=uuid4(), restricted_to=None)
    client = Client(Recorder(), viewer, Position(5, 0, 0))
    live = Subscription("live", Filter(), client, Position(5, 0, 0), live=True)
    behind = Subscription("behind", Filter(), client, Position(1, 0, 0))
    client.subscriptions = {each.name: each for each in (live, behind)}
    assert client.send(_item(9))
    assert client.resumable == Position(1, 0, 0)

    behind.reached = Position(3, 1, 0)
    assert client.resumable == Position(3, 1, 0)

    behind.live = True
    assert client.resumable == Position(9, 1, 0)
