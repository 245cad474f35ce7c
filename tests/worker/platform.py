"""A small platform for a worker: its API, a real git server and a model that plays fixed steps."""

import asyncio
import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web

SANDBOX_ID = "omoios-0a1b2c3d-4e5f60"
TOKEN = "sbx_token-of-the-test"
API = f"/api/v1/sandboxes/{SANDBOX_ID}"

Step = dict[str, Any]

WRITTEN = "def binomial(n, k):\n    return 0\n\n\nprint(binomial(50, 25))\n"
WRITE: Step = {"tool": "Write", "input": {"file_path": "binomial.py", "content": WRITTEN}}
EDIT: Step = {
    "tool": "Edit",
    "input": {
        "file_path": "binomial.py",
        "old_string": "def binomial(n, k):\n    return 0",
        "new_string": "import math\n\n\ndef binomial(n, k):\n    return math.comb(n, k)",
    },
}
BASH: Step = {"tool": "Bash", "input": {"command": "python3 binomial.py"}}
BINOMIAL: list[Step] = [WRITE, EDIT, BASH, {"text": "C(50,25) = {output}"}]
#: Blocks until it is killed: Bash refuses a plain sleep.
HANG: Step = {"tool": "Bash", "input": {"command": "python3 -c 'import time; time.sleep(60)'"}}


class Platform:
    """Everything a worker talks to, with switches for errors."""

    def __init__(self, root: Path) -> None:
        self.repositories = root / "repos"
        self.steps: list[Step] = BINOMIAL
        #: The steps for sub-agents.
        self.sub_steps: list[Step] = [{"text": "the sub-agent's answer"}]
        self.task: dict[str, Any] = {}
        #: While this is clear, requests for the task wait.
        self.task_ready = asyncio.Event()
        self.task_ready.set()
        self.events: list[dict[str, Any]] = []
        self.heartbeats: list[dict[str, Any]] = []
        self.blobs: dict[str, bytes] = {}
        self.transcripts: dict[str, bytes] = {}
        #: How often a transcript was uploaded, and the status of the answer.
        self.transcript_puts = 0
        self.transcript_sizes: list[int] = []
        self.transcript_status = 200
        #: The conversation that the next attempt resumes.
        self.session: tuple[str, bytes] | None = None
        self.model_calls = 0
        #: The bodies of all requests to the model, and the event that steps with `hold` wait for.
        self.asked: list[str] = []
        self.may_answer = asyncio.Event()
        #: How many replies hang, because of steps with `hang`.
        self.hanging = 0
        self.messages: list[dict[str, Any]] = []
        self.acknowledged: list[str] = []
        #: Answer every poll with this status instead.
        self.messages_status: int | None = None
        self.polls = 0
        #: Return every message at every poll, as if none was acknowledged.
        self.repeats_messages = False
        #: Answer every batch with this status instead.
        self.batch_status: int | None = None
        #: The Retry-After of that answer.
        self.retry_after: str | None = None
        #: The largest batch body that is accepted.
        self.max_batch_bytes = 1 << 30
        self.refused = 0
        #: The number of events in each batch.
        self.batches: list[int] = []
        self._changed = asyncio.Condition()
        self._runner: web.AppRunner | None = None
        self.port = 0
        #: The path of a gateway socket on which the platform listens too.
        self.socket: Path | None = None

    async def start(self) -> None:
        """Listen, on the same port as before if there was one."""
        app = web.Application(client_max_size=1 << 28)
        app.router.add_post(f"{API}/events", self._post_event)
        app.router.add_post(f"{API}/events/batch", self._post_batch)
        app.router.add_put(API + "/blobs/{digest}", self._put_blob)
        app.router.add_put(f"{API}/transcript", self._put_transcript)
        app.router.add_get(f"{API}/session", self._get_session)
        app.router.add_get(f"{API}/task", self._get_task)
        app.router.add_get(f"{API}/messages", self._get_messages)
        app.router.add_post(f"{API}/messages/ack", self._acknowledge)
        app.router.add_post("/v1/messages", self._model)
        app.router.add_route("*", "/git/{path:.*}", self._git)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]
        if self.socket:
            await web.UnixSite(self._runner, str(self.socket)).start()

    async def stop(self) -> None:
        """Stop listening and cut every connection."""
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def wait_for(self, reached: Callable[[], bool], *, seconds: float = 60) -> None:
        """Return when the condition becomes true."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(reached)

    async def wait_for_event(self, event_type: str) -> dict[str, Any]:
        """Wait for the first event of a type and return it."""
        await self.wait_for(lambda: bool(self.of_type(event_type)))
        return self.of_type(event_type)[0]

    def of_type(self, event_type: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event_type"] == event_type]

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _check(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise web.HTTPUnauthorized

    async def _post_event(self, request: web.Request) -> web.Response:
        self._check(request)
        event = await request.json()
        assert "seq" not in event
        self.heartbeats.append(event)
        await self._notify()
        return web.json_response({"status": "received"})

    async def _post_batch(self, request: web.Request) -> web.Response:
        self._check(request)
        body = await request.read()
        if self.batch_status or len(body) > self.max_batch_bytes:
            self.refused += 1
            await self._notify()
            headers = {"Retry-After": self.retry_after} if self.retry_after else {}
            return web.json_response({}, status=self.batch_status or 413, headers=headers)
        duplicates = 0
        posted = json.loads(body)["events"]
        self.batches.append(len(posted))
        for event in posted:
            if event["seq"] <= len(self.events):
                assert event == self.events[event["seq"] - 1], "a resent event differs"
                duplicates += 1
            elif event["seq"] == len(self.events) + 1:
                assert all(value in self.blobs for key, value in event["event_data"].items() if key.endswith("_blob"))
                self.events.append(event)
        await self._notify()
        answer = {"accepted": 0, "duplicates": duplicates, "rejected": [], "last_seq": len(self.events)}
        return web.json_response(answer)

    async def _put_blob(self, request: web.Request) -> web.Response:
        self._check(request)
        content = await request.read()
        assert hashlib.sha256(content).hexdigest() == request.match_info["digest"]
        self.blobs[request.match_info["digest"]] = content
        return web.json_response({})

    async def _put_transcript(self, request: web.Request) -> web.Response:
        self._check(request)
        assert request.content_type == "application/x-ndjson"
        content = await request.read()
        self.transcript_puts += 1
        session_id, offset = request.query["session_id"], int(request.query["offset"])
        status = self.transcript_status
        if status == 200 and offset not in (0, len(self.transcripts.get(session_id, b""))):
            status = 409
        if status == 200:
            self.transcripts[session_id] = self.transcripts.get(session_id, b"")[:offset] + content
            self.transcript_sizes.append(len(content))
        await self._notify()
        return web.json_response({"code": "conflict"} if status == 409 else {}, status=status)

    async def _get_session(self, request: web.Request) -> web.Response:
        self._check(request)
        if self.session is None:
            return web.json_response({"code": "not_found"}, status=404)
        session_id, content = self.session
        return web.Response(body=content, headers={"X-Session-Id": session_id, "Content-Type": "application/x-ndjson"})

    async def _get_task(self, request: web.Request) -> web.Response:
        self._check(request)
        await self.task_ready.wait()
        return web.json_response(self.task)

    async def say(self, content: str, *, message_type: str = "user_message", deliver: str = "next_tool") -> str:
        """Queue a message and return its id."""
        message_id = f"0190b2c4-0000-7000-8000-{len(self.messages):012x}"
        message = {"message_id": message_id, "message_type": message_type, "content": content, "sender": "user:me@x"}
        self.messages.append({**message, "deliver": deliver})
        await self._notify()
        return message_id

    async def _get_messages(self, request: web.Request) -> web.Response:
        self._check(request)
        self.polls += 1
        await self._notify()
        if self.messages_status:
            return web.json_response({}, status=self.messages_status)
        after = "" if self.repeats_messages else request.query.get("after", "")
        waiting = self._waiting_after(after)
        if not waiting and float(request.query["wait"]):
            async with self._changed:
                await self._changed.wait_for(lambda: bool(self._waiting_after(after)))
            waiting = self._waiting_after(after)
        if self.messages_status:
            return web.json_response({}, status=self.messages_status)
        return web.json_response({"items": waiting})

    def _waiting_after(self, after: str) -> list[dict[str, Any]]:
        known = [] if self.repeats_messages else self.acknowledged
        return [each for each in self.messages if each["message_id"] > after and each["message_id"] not in known]

    async def _acknowledge(self, request: web.Request) -> web.Response:
        self._check(request)
        self.acknowledged += (await request.json())["message_ids"]
        await self._notify()
        return web.json_response({})

    async def _model(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        self.model_calls += 1
        body = await request.json()
        self.asked.append(json.dumps(body["messages"]))
        await self._notify()
        results = [block for message in body["messages"] for block in _blocks(message) if _is_result(block)]
        step = self.steps[min(len(results), len(self.steps) - 1)]
        if "once" in step and any(
            step["text"] in str(each) for each in body["messages"] if each["role"] == "assistant"
        ):
            # The model said it already, so this is the next turn.
            step = step["once"]
        # Only the main conversation may start sub-agents.
        is_main = any(tool["name"] == "Agent" for tool in body["tools"])
        if not is_main:
            step = self.sub_steps[min(len(results), len(self.sub_steps) - 1)]
        if "status" in step:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": step["message"]}}
            return web.json_response(error, status=step["status"])
        if step.get("hold"):
            await self.may_answer.wait()
        output = _result_text(results[-1]) if results else ""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in _reply(step, number=len(results) + (0 if is_main else 100), output=output, model=body["model"]):
            if event["type"] == "content_block_stop" and step.get("hang"):
                self.hanging += 1
                await self._notify()
                await asyncio.Event().wait()
            await response.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        return response

    async def _git(self, request: web.Request) -> web.Response:
        self._check(request)
        environ = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.repositories),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "worker",
            "PATH_INFO": "/" + request.match_info["path"],
            "REQUEST_METHOD": request.method,
            "QUERY_STRING": request.query_string,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "HTTP_GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        }
        process = await asyncio.create_subprocess_exec(
            "git", "http-backend", env=environ, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate(await request.read())
        head, _, body = out.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(headers.pop("Status", "200").split()[0])
        return web.Response(status=status, headers=headers, body=body)


def _blocks(message: dict[str, Any]) -> list[Any]:
    return message["content"] if isinstance(message["content"], list) else []


def _is_result(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _result_text(block: dict[str, Any]) -> str:
    content = block.get("content")
    text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])
    return re.sub(r"<system-reminder>.*?</system-reminder>", "", text, flags=re.DOTALL).strip()


def _reply(step: dict[str, Any], *, number: int, output: str, model: str) -> list[dict[str, Any]]:
    usage = {"input_tokens": 100, "output_tokens": 1}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": []}
    if "tool" in step:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": step["tool"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step["input"])}
        stop = "tool_use"
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": step["text"].replace("{output}", output)}
        stop = "end_turn"
    return [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop},
            "usage": {"output_tokens": 20},
        },
        {"type": "message_stop"},
    ]
