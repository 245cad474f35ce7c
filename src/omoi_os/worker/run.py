"""The run: one task from the clone to its last event."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from omoi_os.protocol.assignment import ExecutionMode
from omoi_os.protocol.events import EventType
from omoi_os.worker import failures, skills
from omoi_os.worker.api import Api
from omoi_os.worker.beginning import Begun
from omoi_os.worker.changes import session_changes
from omoi_os.worker.child import AgentChild, NotJson, finite
from omoi_os.worker.environment import Environment
from omoi_os.worker.failures import Failure
from omoi_os.worker.git import GitError, Repository
from omoi_os.worker.http import HttpError
from omoi_os.worker.launch import launch
from omoi_os.worker.processes import oom_kills
from omoi_os.worker.prompt import guidance, prompt, resumed_prompt, with_description
from omoi_os.worker.report import Report
from omoi_os.worker.session import Session, forget_session, is_refusal, not_resumed, restore_session
from omoi_os.worker.transcripts import Transcripts
from omoi_os.worker.unfinished import save_unfinished_work
from omoi_os.worker.usage import Usage

EXIT_COMPLETED = 0
EXIT_FAILED = 1
#: What a shell says of a process that SIGTERM ended; it tells a stopped worker from a finished one.
EXIT_STOPPED = 128 + signal.SIGTERM

TRANSCRIPT_TRIES = 6
#: How long the agent has to end its turn, and how long saving may take, after SIGTERM.
INTERRUPT_SECONDS = 4.0
SAVING_SECONDS = 8.0


class Run:
    """One attempt at one task. `work` runs it; `stop` asks it to end; `shut_down` ends it when it did not."""

    def __init__(self, environment: Environment, report: Report, api: Api, *, begun: Begun) -> None:
        """`begun` tells what was done before the rest of the worker was there."""
        self._environment = environment
        self._places = environment.places
        self._assignment = environment.assignment
        self._report = report
        self._api = api
        self._repository = Repository(self._places, self._assignment, environment.token, environment.variables)
        self._usage = Usage([self._places.home, self._places.workspace])
        self._begun = begun
        self._child: AgentChild | None = None
        self.transcripts = Transcripts(api, self._places)
        self._base: str | None = None
        self._session: Session | None = None
        self._result: dict[str, Any] = {}
        self._oom_kills = oom_kills()
        self._stopping = False
        #: True once the last event of the attempt is spooled.
        self.ended = False

    async def work(self) -> int:
        """From the start to the last event; returns the exit code."""
        if not self._begun.is_started:
            self._emit_started()
        self._child = await AgentChild.adopt(self._begun.child or launch(str(self._places.home)))
        try:
            failure = await self._prepare() or await self._converse()
            if failure is None:
                failure = await self._complete()
        finally:
            await self._child.kill()
        if failure is None:
            return EXIT_COMPLETED
        if self._stopping:
            await self.shut_down()
            return EXIT_STOPPED
        await self._fail(failure)
        return EXIT_FAILED

    async def status(self) -> dict[str, Any]:
        """The heartbeat's data."""
        agent = self._child.agent if self._child else None
        return self._report.status() | await self._usage.measure(agent, in_tool=self._report.in_tool)

    def _emit_started(self) -> None:
        assignment = self._assignment
        data = {"attempt": assignment.attempt, "branch_name": assignment.branch_name, "model": assignment.model}
        data |= {"mode": str(assignment.mode), "worker_pid": os.getpid(), "python": sys.version.split()[0]}
        self._report.emit(EventType.AGENT_STARTED, data)

    async def _prepare(self) -> Failure | None:
        """Fetch the description if it is long, and check the branch out."""
        self._report.phase = "cloning"
        try:
            self._assignment = await with_description(self._assignment, self._api)
            self._base = await self._repository.check_out()
        except (GitError, HttpError, OSError) as error:
            return Failure(str(error), "network", "The repository or the API was not reached through the gateway.")
        return None

    async def _converse(self) -> Failure | None:
        """Let the agent work: with the conversation of the attempt before if there is one, else from the beginning."""
        assert self._child  # noqa: S101
        session = await restore_session(self._api, self._places) if self._assignment.attempt > 1 else None
        self._session = session
        failure = await self._talk(self._child)
        if session is None or failure is None or self._stopping or self._report.calls or not is_refusal(failure):
            return failure
        self._report.emit(EventType.AGENT_ERROR, not_resumed(session, failure))
        forget_session(self._places, session)
        self._session, self._result = None, {}
        await self._child.kill()
        self._child = await AgentChild.adopt(launch(str(self._places.home)))
        return await self._talk(self._child)

    async def _talk(self, child: AgentChild) -> Failure | None:
        """Start the agent and relay what it says, until its result or its death."""
        self._report.phase = "working"
        # Not beside the clone: the CLI takes its git status and looks for skills as soon as it starts.
        await child.start(self._conversation(), self._environment.variables, self._places)
        async for message in child.messages():
            if isinstance(message, NotJson) or message.get("type") == "event":
                self._report.relay(message)
                self.transcripts.note_turn(self._report.session_id)
            elif message.get("type") == "result":
                self._result = message
                # The CLI writes the last of its transcript when it ends.
                await child.wait()
                return failures.from_result(message) if message.get("is_error") is not False else None
            elif message.get("type") == "failure":
                await child.wait()
                return failures.from_child(message, said=child.stderr, out_of_memory=self._out_of_memory())
        exit_code = await child.wait()
        return failures.from_end(exit_code, said=child.stderr, out_of_memory=self._out_of_memory())

    def _conversation(self) -> dict[str, Any]:
        return {
            "op": "start",
            "prompt": resumed_prompt(self._assignment) if self._session else prompt(self._assignment),
            "resume": self._session.id if self._session else None,
            "guidance": guidance(self._assignment),
            "workspace": str(self._places.workspace),
            "tree": str(self._places.tree),
            "plugins": skills.collect(self._places),
            "model": self._assignment.model,
            "max_turns": self._assignment.max_turns,
            "max_budget_usd": self._assignment.max_budget_usd,
            "permission_mode": self._assignment.permission_mode,
        }

    def _out_of_memory(self) -> bool:
        return oom_kills() > self._oom_kills

    async def _complete(self) -> Failure | None:
        """Commit, push, keep the transcript and say so; or the failure that was met on the way."""
        self._report.phase = "pushing"
        commit_sha: str | None = self._base
        files_changed: list[str] = []
        try:
            if self._assignment.mode == ExecutionMode.IMPLEMENTATION and self._base:
                await self._repository.commit(f"{self._assignment.title}\n\nTask: {self._assignment.task_id}\n")
                commit_sha = await self._repository.head()
                files_changed = await self._repository.files_changed(self._base)
                if commit_sha != self._base:
                    await self._repository.push()
                    self._repository.remember_base(commit_sha)
        except (GitError, OSError) as error:
            final = isinstance(error, GitError) and error.final
            return Failure(str(error), "tool" if final else "network", "The work could not be pushed to its branch.")
        await self._save_transcript(tries=TRANSCRIPT_TRIES)
        changed = await self._changed()
        self._end(
            EventType.AGENT_COMPLETED,
            {
                "success": True,
                "final_output": str(self._result.get("result") or ""),
                **self._figures(),
                "stop_reason": self._result.get("stop_reason"),
                "branch_name": self._assignment.branch_name,
                "commit_sha": commit_sha,
                "files_changed": files_changed,
                **changed,
            },
        )
        return None

    async def _fail(self, failure: Failure) -> None:
        self._report.phase = "failing"
        await self._save_work()
        await self._save_transcript(tries=TRANSCRIPT_TRIES)
        about = {"error": failure.error, "error_type": failure.error_type, "hint": failure.hint}
        self._report.emit(failure.event_type, about)
        more = {"api_error_status": failure.api_error_status, "subtype": self._result.get("subtype")}
        changed = await self._changed()
        self._end(EventType.AGENT_FAILED, {**about, **more, **self._figures(), **changed})

    async def fail_unexpectedly(self, error: Exception) -> None:
        """Report an error of the worker itself."""
        if not self.ended:
            hint = "This is an error in the worker; please report it."
            await self._fail(Failure(f"{type(error).__name__}: {error}", "unknown", hint))

    async def stop(self) -> float:
        """Ask the agent to end; returns how many seconds that may take before `shut_down` has to be called."""
        self._stopping = True
        if self._report.phase == "working" and self._child:
            await self._child.send({"op": "interrupt"})
            return INTERRUPT_SECONDS
        return SAVING_SECONDS if self._report.phase in ("pushing", "failing", "stopping") else 0.0

    async def shut_down(self) -> None:
        """Save what there is, and say that the worker was told to go."""
        self._report.phase = "stopping"
        if self._child:
            await self._child.kill()
        saved, changed = None, {}
        try:
            async with asyncio.timeout(SAVING_SECONDS):
                changed = await self._changed()
                saved = await self._save_work()
                await self._save_transcript(tries=1)
        except TimeoutError:
            saved = None
        self._end(EventType.AGENT_SHUTDOWN, {"reason": "sigterm", "wip_commit": saved, **self._figures(), **changed})

    async def abandon(self) -> None:
        """End the agent at once and save nothing: this attempt no longer counts."""
        if self._child:
            await self._child.kill()

    def _end(self, event_type: str, data: dict[str, Any]) -> None:
        if not self.ended:
            self.ended = True
            self._report.emit(event_type, data)

    def _figures(self) -> dict[str, Any]:
        usage = self._result.get("usage")
        counts = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        tokens = [finite(usage.get(name)) or 0 for name in counts] if isinstance(usage, dict) else []
        cost, before = finite(self._result.get("cost_usd")) or 0.0, self._session.cost_usd if self._session else 0.0
        return {
            "turns": finite(self._result.get("turns")) or self._report.turn,
            "cost_usd": max(0.0, cost - before),
            "tokens": int(sum(tokens)),
            "usage": dict(zip(counts, tokens, strict=False)),
            "session_id": self._session_id(),
        }

    def _session_id(self) -> str | None:
        session_id = self._result.get("session_id") or self._report.session_id
        return session_id if isinstance(session_id, str) else None

    async def _save_work(self) -> str | None:
        """Push unfinished work to the work-in-progress branch, if that can be done."""
        if self._assignment.mode != ExecutionMode.IMPLEMENTATION or not self._base:
            return None
        try:
            return (await save_unfinished_work(self._repository, self._base)).commit
        except (GitError, OSError) as error:
            about = {"error": str(error), "error_type": "network", "hint": "Unfinished work was not saved."}
            self._report.emit(EventType.AGENT_ERROR, about)
            return None

    async def _changed(self) -> dict[str, Any]:
        return await session_changes(self._places.workspace, self._places.tree, base=self._base) if self._base else {}

    async def _save_transcript(self, *, tries: int) -> None:
        session_id = self._session_id()
        if session_id:
            await self.transcripts.save(session_id, tries=tries)
