"""The loopback Daytona's calls into a sandbox: processes, sessions, files."""

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING

from aiohttp import BodyPartReader, web

from omoi_os.errors import ProviderError
from omoi_os.providers.base import ExecResult, SandboxRef
from tests.providers.daytona.records import Age, Command, Record, Session

if TYPE_CHECKING:
    from tests.providers.daytona.server import FakeDaytona

FAR = timedelta(days=1)
STDOUT, STDERR = b"\1\1\1", b"\2\2\2"
BOUNDARY = "DAYTONA-FILE-BOUNDARY"


def split(command: str) -> list[str]:
    """Split a command line as older daemons do: at blanks, with quotes that only group and no escapes."""
    words: list[str] = []
    word = quote = ""
    for letter in command:
        if letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        elif letter == " " and not quote:
            words, word = [*words, word] if word else words, ""
        else:
            word += letter
    return [*words, word] if word else words


def routes(server: "FakeDaytona") -> list[web.RouteDef]:
    """The routes below each sandbox's own address."""
    calls = Toolbox(server)
    base = "/toolbox/{name}"
    return [
        web.post(f"{base}/process/execute", calls.execute),
        web.post(f"{base}/process/session", calls.create_session),
        web.get(f"{base}/process/session/{{session}}", calls.get_session),
        web.delete(f"{base}/process/session/{{session}}", calls.delete_session),
        web.post(f"{base}/process/session/{{session}}/exec", calls.session_execute),
        web.get(f"{base}/process/session/{{session}}/command/{{command}}", calls.get_command),
        web.get(f"{base}/process/session/{{session}}/command/{{command}}/logs", calls.logs),
        web.post(f"{base}/files/bulk-upload", calls.upload),
        web.post(f"{base}/files/bulk-download", calls.download),
        web.get(f"{base}/files/info", calls.info),
        web.delete(f"{base}/files", calls.delete),
    ]


class Toolbox:
    """The daemon inside each sandbox."""

    def __init__(self, server: "FakeDaytona") -> None:
        self.server = server

    def awake(self, request: web.Request) -> Record:
        record = self.server.named(request.match_info["name"])
        if record.state != "started":
            raise _problem(400, "no IP address found. Is the Sandbox started?")
        record.idle_minutes = 0
        return record

    async def run(self, record: Record, argv: list[str], *, timeout: timedelta = FAR, stdin: bytes = b"") -> ExecResult:
        try:
            return await self.server.local.exec(SandboxRef(record.id), argv, stdin=stdin, timeout=timeout)
        except ProviderError as error:
            raise _problem(502, str(error)) from error

    async def execute(self, request: web.Request) -> web.Response:
        record, asked = self.awake(request), await request.json()
        argv = split(asked["command"]) if self.server.age is Age.OLD else ["/bin/sh", "-c", asked["command"]]
        try:
            result = await self.run(record, argv, timeout=timedelta(seconds=asked.get("timeout") or 360))
        except TimeoutError:
            raise _problem(408, "command execution timeout") from None
        missing = self.server.age is Age.OLD and result.exit_code == 127
        text = (result.stdout + result.stderr).decode(errors="replace")
        return web.json_response({"exitCode": -1 if missing else result.exit_code, "result": text})

    async def create_session(self, request: web.Request) -> web.Response:
        record, asked = self.awake(request), await request.json()
        if asked["sessionId"] in record.sessions:
            raise _problem(409, "session already exists")
        record.sessions[asked["sessionId"]] = Session()
        return web.Response(status=201)

    async def get_session(self, request: web.Request) -> web.Response:
        session = self.session(request)
        shown = [command.shown() for command in session.commands]
        return web.json_response({"sessionId": request.match_info["session"], "commands": shown})

    async def delete_session(self, request: web.Request) -> web.Response:
        session = self.session(request)
        for task in session.tasks:
            task.cancel()
        del self.awake(request).sessions[request.match_info["session"]]
        return web.Response(status=204)

    async def session_execute(self, request: web.Request) -> web.Response:
        session, record, asked = self.session(request), self.awake(request), await request.json()
        command = Command(asked["command"])
        session.commands.append(command)
        task = asyncio.create_task(self._run_command(record, command))
        session.tasks.add(task)
        if not asked.get("runAsync"):
            await task
        return web.json_response({"cmdId": command.id}, status=202 if asked.get("runAsync") else 200)

    async def _run_command(self, record: Record, command: Command) -> None:
        try:
            result = await self.run(record, ["/bin/sh", "-c", command.text])
            command.output, command.exit_code = _labelled(result), result.exit_code
        except web.HTTPException:
            command.exit_code = 137
        finally:
            command.ended.set()

    async def get_command(self, request: web.Request) -> web.Response:
        return web.json_response(self.command(request).shown())

    async def logs(self, request: web.Request) -> web.StreamResponse:
        command = self.command(request)
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return web.Response(body=command.output)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await command.ended.wait()
        if command.output:
            await socket.send_bytes(command.output)
        await socket.close()
        return socket

    async def upload(self, request: web.Request) -> web.Response:
        record, place = self.awake(request), ""
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            content = await part.read(decode=False)
            if (part.name or "").endswith(".path"):
                place = content.decode().strip()
            else:
                await self._write(record, place, bytes(content))
        return web.json_response({"files": []})

    async def _write(self, record: Record, place: str, content: bytes) -> None:
        script = 'mkdir -p "$(dirname "$1")" && cat > "$1.new" && mv "$1.new" "$1"'
        result = await self.run(record, ["/bin/sh", "-c", script, "sh", place], stdin=content)
        if result.exit_code:
            raise web.HTTPBadRequest(text=json.dumps({"errors": [result.stderr.decode(errors="replace")]}))

    async def download(self, request: web.Request) -> web.Response:
        record, asked = self.awake(request), await request.json()
        parts = []
        for place in asked["paths"]:
            try:
                kind, content = "file", await self.server.local.read_file(SandboxRef(record.id), place)
            except (FileNotFoundError, ProviderError) as error:
                kind, content = "error", str(error).encode()
            head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{kind}"; filename="{place}"\r\n'
            parts.append(head.encode() + b"Content-Type: application/octet-stream\r\n\r\n" + content + b"\r\n")
        body = b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()
        return web.Response(body=body, headers={"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"})

    async def info(self, request: web.Request) -> web.Response:
        record, place = self.awake(request), request.query["path"]
        result = await self.run(record, ["/usr/bin/stat", "-L", "-c", "%s %F", "--", place])
        if result.exit_code:
            raise _problem(404, f"stat {place}: no such file or directory")
        size, _, kind = result.stdout.decode().strip().partition(" ")
        shown = {"name": place.rpartition("/")[2], "path": place, "isDir": kind == "directory", "size": int(size)}
        plain = {"mode": "-rw-r--r--", "modTime": "", "owner": "agent", "group": "agent", "permissions": "0644"}
        return web.json_response({**plain, **shown, "modifiedAt": ""})

    async def delete(self, request: web.Request) -> web.Response:
        record, place = self.awake(request), request.query["path"]
        await self.run(record, ["/bin/rm", "--", place])
        return web.Response(status=204)

    def session(self, request: web.Request) -> Session:
        session = self.awake(request).sessions.get(request.match_info["session"])
        if session is None:
            raise _problem(404, "session not found")
        return session

    def command(self, request: web.Request) -> Command:
        for command in self.session(request).commands:
            if command.id == request.match_info["command"]:
                return command
        raise _problem(404, "command not found")


def _labelled(result: ExecResult) -> bytes:
    lines = [STDOUT + line + b"\n" for line in result.stdout.splitlines()]
    return b"".join([*lines, *(STDERR + line + b"\n" for line in result.stderr.splitlines())])


def _problem(status: int, message: str) -> web.HTTPException:
    kinds = (web.HTTPBadRequest, web.HTTPNotFound, web.HTTPConflict, web.HTTPBadGateway, web.HTTPRequestTimeout)
    kind = next(kind for kind in kinds if kind.status_code == status)
    return kind(text=json.dumps({"message": message, "code": status}), content_type="application/json")
