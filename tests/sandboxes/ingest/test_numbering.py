"""Properties of the numbering core, for any stream of events and any way to send it."""

from collections.abc import Iterable, Sequence
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from omoi_os.protocol.events import Event
from omoi_os.sandboxes.ingest.numbering import REJECTED, Action, Decision, JudgedEvent, Numbering, StoredEvent
from tests.conftest import NOON

settings.register_profile("numbering", deadline=None)
settings.load_profile("numbering")


class Log:
    """A sandbox's log: starts from the stored events for each batch, as a transaction does."""

    def __init__(self) -> None:
        self.stored: list[StoredEvent] = []
        self.acked_seq = 0
        self._ids = count(1)

    def post(self, batch: Iterable[JudgedEvent]) -> list[Decision]:
        numbering = self.numbering(self.stored, complete=True)
        decisions = [numbering.decide(judged) for judged in batch]
        new = [each.stored for each in decisions if each.action in (Action.STORE, Action.REJECT) and each.stored]
        self.stored += new
        self.acked_seq = numbering.acked_seq
        assert numbering.last_seq == len(self.stored)
        return decisions

    def numbering(self, stored: Iterable[StoredEvent], *, complete: bool) -> Numbering:
        last_seq = len(self.stored)
        new_id = lambda: f"new-{next(self._ids)}"  # noqa: E731
        return Numbering(last_seq, self.acked_seq, now=NOON, new_id=new_id, stored=stored, complete=complete)


def judged(seq: int | None, *, event_id: str | None = None, text: str = "", rejected: bool = False) -> JudgedEvent:
    if rejected:
        return JudgedEvent(Event(REJECTED, {"reason": text}, event_id=event_id, seq=seq), reason=text)
    return JudgedEvent(Event("agent.message", {"text": text}, event_id=event_id, seq=seq))


#: Any events: numbers out of order, repeated and missing, ids used twice, contents changed.
ANY_EVENT = st.builds(
    judged,
    st.one_of(st.none(), st.integers(1, 6)),
    event_id=st.sampled_from([None, "a", "b", "c"]),
    text=st.sampled_from(["x", "y"]),
    rejected=st.booleans(),
)
ANY_STREAM = st.lists(ANY_EVENT, max_size=20)


@st.composite
def worker_streams(draw: st.DrawFn) -> list[JudgedEvent]:
    """The events of a worker: numbered densely from 1, ids used once, some of them rejected."""
    number = draw(st.integers(1, 20))
    with_ids = draw(st.booleans())
    rejected = draw(st.sets(st.integers(1, number)))
    return [
        judged(n, event_id=f"e{n}" if with_ids else None, text=str(n), rejected=n in rejected)
        for n in range(1, number + 1)
    ]


@st.composite
def splits(draw: st.DrawFn, stream: Sequence[JudgedEvent]) -> list[Sequence[JudgedEvent]]:
    """The same events in batches."""
    cuts = sorted(draw(st.sets(st.integers(0, len(stream)))))
    return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@given(ANY_STREAM)
def test_listed_numbers_are_dense_and_no_event_is_stored_twice(stream: list[JudgedEvent]) -> None:
    log = Log()
    log.post(stream)

    assert [event.seq for event in log.stored] == list(range(1, len(log.stored) + 1))
    assert len({event.event_id for event in log.stored}) == len(log.stored)
    posted = [event.posted_seq for event in log.stored if event.posted_seq is not None]
    assert posted == sorted(set(posted))


@given(ANY_STREAM)
def test_nothing_beyond_a_gap_is_stored_and_the_numbers_before_it_are_acknowledged(stream: list[JudgedEvent]) -> None:
    log = Log()
    expected = 0
    for each in stream:
        seq = each.event.seq
        (decision,) = log.post([each])
        if seq is not None and seq > expected + 1:
            assert decision.action in (Action.BEYOND_GAP, Action.DUPLICATE)
        else:
            assert decision.action is not Action.BEYOND_GAP
            expected = max(expected, seq or 0)
        assert log.acked_seq == expected
    assert all(event.posted_seq <= expected for event in log.stored if event.posted_seq is not None)


@given(st.data(), ANY_STREAM)
def test_any_split_of_a_stream_into_batches_gives_the_same_result(
    data: st.DataObject, stream: list[JudgedEvent]
) -> None:
    whole, split = Log(), Log()

    decisions = whole.post(stream)

    assert [each for batch in data.draw(splits(stream)) for each in split.post(batch)] == decisions
    assert (split.stored, split.acked_seq) == (whole.stored, whole.acked_seq)


@given(st.data(), worker_streams())
def test_resent_events_change_nothing(data: st.DataObject, stream: list[JudgedEvent]) -> None:
    once, often = Log(), Log()
    once.post(stream)

    while often.acked_seq < len(stream):
        # As a worker does: from any event that may not be acknowledged yet, or from an earlier one.
        first = data.draw(st.integers(0, often.acked_seq))
        last = data.draw(st.integers(often.acked_seq + 1, len(stream)))
        known = often.acked_seq
        actions = [each.action for each in often.post(stream[first:last])]
        assert actions[: known - first] == [Action.DUPLICATE] * (known - first)
        assert often.acked_seq == last

    assert often.stored == once.stored
    assert {each.action for each in often.post(stream)} == {Action.DUPLICATE}


@given(worker_streams())
def test_a_rejected_event_is_stored_as_a_stub_and_acknowledged(stream: list[JudgedEvent]) -> None:
    log = Log()
    decisions = log.post(stream)

    assert log.acked_seq == len(log.stored) == len(stream)
    for each, decision, stored in zip(stream, decisions, log.stored, strict=True):
        expected = (Action.STORE, "agent.message") if each.reason is None else (Action.REJECT, REJECTED)
        assert (decision.action, stored.event_type) == expected


@given(st.data(), worker_streams())
def test_the_same_number_with_other_content_keeps_the_first_event(
    data: st.DataObject, stream: list[JudgedEvent]
) -> None:
    log = Log()
    log.post(stream)
    before = list(log.stored)
    seq = data.draw(st.integers(1, len(stream)))
    first = stream[seq - 1]
    others = [
        judged(seq, event_id=first.event.event_id, text="changed"),
        judged(seq, event_id="another", text=str(seq)),
        judged(seq, event_id=first.event.event_id, text=str(seq), rejected=first.reason is None),
    ]

    other = data.draw(st.sampled_from(others))
    (decision,) = log.post([other])

    if first.reason is not None and other.reason is not None:
        assert decision == Decision(Action.DUPLICATE, before[seq - 1])
    else:
        assert decision == Decision(Action.CONFLICT, before[seq - 1])
    assert (log.stored, log.acked_seq) == (before, len(stream))


@given(ANY_STREAM, ANY_STREAM)
def test_the_same_is_decided_without_the_stored_events_unless_they_are_asked_for(
    earlier: list[JudgedEvent], batch: list[JudgedEvent]
) -> None:
    """The fast path does not read the stored events; it only knows which ids are repeated."""
    log = Log()
    log.post(earlier)
    ids = {each.event.event_id for each in batch}
    fast = log.numbering([event for event in log.stored if event.event_id in ids], complete=False)
    acked_before = log.acked_seq

    found = [fast.decide(each).action for each in batch]
    decisions = [each.action for each in log.post(batch)]

    if Action.LOOK_UP in found:
        asked = found.index(Action.LOOK_UP)
        assert found[:asked] == decisions[:asked]
        assert (batch[asked].event.seq or 0) <= max(acked_before, fast.acked_seq)
    else:
        assert found == decisions


def test_a_number_used_by_a_repeated_event_cannot_be_used_again() -> None:
    log = Log()
    log.post([judged(1, event_id="a")])

    assert [each.action for each in log.post([judged(2, event_id="a")])] == [Action.DUPLICATE]
    assert log.acked_seq == 2
    assert [each.action for each in log.post([judged(2, event_id="a"), judged(2, event_id="b")])] == [
        Action.DUPLICATE,
        Action.CONFLICT,
    ]
    assert [each.action for each in log.post([judged(3, event_id="b")])] == [Action.STORE]


def test_a_stored_event_that_is_repeated_beyond_a_gap_is_a_duplicate() -> None:
    log = Log()
    log.post([judged(1, event_id="a")])

    actions = [each.action for each in log.post([judged(9, event_id="a"), judged(9, event_id="b")])]

    assert (actions, log.acked_seq) == ([Action.DUPLICATE, Action.BEYOND_GAP], 1)
