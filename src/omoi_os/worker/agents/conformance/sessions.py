"""Sessions: a conversation is saved, and another sandbox resumes it."""

from __future__ import annotations

from omoi_os.protocol.agent import End, Failed, Started, TurnEnded
from omoi_os.worker.agents.conformance.bench import Bench, Check, demand
from omoi_os.worker.agents.conformance.bench import Failed as CheckFailed
from omoi_os.worker.agents.conformance.model import Reply

#: A session that no agent has.
UNKNOWN = "5c7f3d52-0000-4000-8000-00000000dead"


async def a_saved_session_is_resumed_elsewhere(bench: Bench) -> None:
    """A transcript that is restored in new folders resumes the conversation, under the same session."""
    bench.model.play(Reply("The word is HERON."))
    await bench.start("Choose a word.")
    first = await bench.wait_for(TurnEnded)
    await bench.send(End())
    await bench.wait_for_exit()
    session_id = first.session_id or ""
    demand(bench.agent.newest_session(bench.paths) == session_id, "the session is not found as the newest")
    transcript = bench.agent.find_transcript(bench.paths, session_id)
    if transcript is None:
        raise CheckFailed("the session has no transcript")
    content = transcript.read_bytes()

    await bench.move(bench.paths.home.parent / "elsewhere")
    demand(bench.agent.newest_session(bench.paths) is None, "the new sandbox has a session already")
    session = bench.agent.restore_transcript(bench.paths, session_id, content)
    if session is None:
        raise CheckFailed("the saved transcript cannot be restored")
    demand(session.id == session_id, f"the restored session is {session.id}")
    demand(session.cost_usd == (first.cost_usd or 0.0), f"the restored cost is {session.cost_usd}")
    await bench.start("What was the word?", resume=session_id)
    second = await bench.wait_for(TurnEnded)

    demand(second.error is None, f"the resumed turn failed: {second.error}")
    demand(bench.of(Started)[-1].session_id == session_id, "the resumed conversation has another session")
    asked = bench.model.requests[-1]
    demand("Choose a word." in asked and "The word is HERON." in asked, "the conversation was not resumed")
    demand("What was the word?" in asked, "the new prompt did not reach the model")
    demand((second.cost_usd or 0.0) >= session.cost_usd, "the cost does not continue from the saved session")


async def damaged_transcripts_are_not_restored(bench: Bench) -> None:
    """A transcript without a conversation, or with an id that is not safe as a file name, is refused."""
    for session_id, content in (
        (UNKNOWN, b""),
        (UNKNOWN, b"no json\n"),
        ("../../evil", b'{"type": "user"}\n'),
        ("", b"\0"),
    ):
        restored = bench.agent.restore_transcript(bench.paths, session_id, content)
        demand(restored is None, f"this transcript was restored as {session_id!r}: {content!r}")
    demand(bench.agent.find_transcript(bench.paths, "../*") is None, "an unsafe id finds a transcript")


async def a_session_that_does_not_exist_is_an_error(bench: Bench) -> None:
    """Resuming an unknown session is reported as an error, not silently started from scratch."""
    bench.model.play(Reply("Hello."))
    await bench.start(resume=UNKNOWN)
    await bench.wait_until(lambda: bool(bench.of(Failed) or bench.of(TurnEnded)), what="an end")

    turns = bench.of(TurnEnded)
    demand(bench.of(Failed) or turns[0].error, f"the conversation started without its session: {turns}")


CHECKS: tuple[Check, ...] = (
    a_saved_session_is_resumed_elsewhere,
    damaged_transcripts_are_not_restored,
    a_session_that_does_not_exist_is_an_error,
)
