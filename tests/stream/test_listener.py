"""What one who listens is owed."""

from uuid import uuid4

from omoi_os.stream.client import Listener, Subscription, Viewer
from omoi_os.stream.filters import Filter
from omoi_os.stream.position import Position
from omoi_os.stream.reader import Item


class Taker:
    """A client that takes everything."""

    buffered = 0

    def __init__(self) -> None:
        self.taken: list[bytes] = []

    def write(self, frame: bytes) -> None:
        self.taken.append(frame)

    def hang_up(self, code: int, reason: str) -> None:
        raise AssertionError(reason)

    async def drained(self) -> None:
        pass


def _item(number: int) -> Item:
    return Item(Position(number, 1, 0), "task.status", uuid4(), None, None, b"%d" % number)


def test_who_is_dropped_resumes_where_the_slowest_subscription_is() -> None:
    viewer = Viewer(credential_id=uuid4(), user_id=uuid4(), owner=None)
    listener = Listener(Taker(), viewer, Position(5, 0, 0))
    live = Subscription("live", Filter(), listener, Position(5, 0, 0), live=True)
    catching = Subscription("catching", Filter(), listener, Position(1, 0, 0))
    listener.subscriptions = {each.name: each for each in (live, catching)}
    assert listener.tell(_item(9))
    assert listener.resumable == Position(1, 0, 0)

    catching.reached = Position(3, 1, 0)
    assert listener.resumable == Position(3, 1, 0)

    catching.live = True
    assert listener.resumable == Position(9, 1, 0)
