"""The requests of git's smart HTTP protocol, and how `git http-backend` gets them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from omoi_os.errors import Forbidden, NotFound
from omoi_os.forges.bare.gc import KEEP_REPLACED
from omoi_os.forges.bare.git import PUSH_CONFIG, SAFE_CONFIG
from omoi_os.forges.smart_http.backend import GitBackend

READ = "git-upload-pack"
PUSH = "git-receive-pack"
#: Content type of the answer to a push.
RESULT = f"application/x-{PUSH}-result"
_REFS = "info/refs"
_CALLS = {("GET", _REFS), ("POST", READ), ("POST", PUSH)}
_PROTOCOL = re.compile(r"version=[0-9]")

#: Space for the commands of a push, in addition to its pack.
_MAX_COMMAND_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a git client."""

    method: str
    #: The path below the repository, such as `info/refs`.
    path: str
    #: `READ` or `PUSH`: which of the two the client wants to do.
    service: str

    @property
    def content_type(self) -> str:
        """Return the type of the request's body, which no form of a web page can send."""
        return f"application/x-{self.service}-request"

    @property
    def is_push(self) -> bool:
        """Return whether the request contains a push, not only a question that precedes it."""
        return self.path == PUSH


def read_call(method: str, path: str, *, service: str) -> Call:
    """Return the request. `service` is the query parameter of that name.

    Raise `NotFound` for a path outside the protocol, and `Forbidden` for a client that does not speak it.
    """
    if (method, path) not in _CALLS:
        raise NotFound("this repository does not exist or you may not see it")
    wanted = service if path == _REFS else path
    if wanted not in (READ, PUSH):
        raise Forbidden("only git's smart HTTP protocol is served: use a newer git client")
    return Call(method, path, wanted)


def variables(call: Call, git_dir: Path, headers: Mapping[str, str], *, client: str) -> dict[str, str]:
    """Return the CGI variables for `git http-backend`. Without a length it reads to the end of its input."""
    values = {
        "GIT_PROJECT_ROOT": str(git_dir.parent),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{git_dir.name}/{call.path}",
        "REQUEST_METHOD": call.method,
        "QUERY_STRING": f"service={call.service}" if call.path == _REFS else "",
        "CONTENT_TYPE": call.content_type,
        "REMOTE_USER": client,
        "REMOTE_ADDR": client,
    }
    if headers.get("Content-Encoding") in ("gzip", "x-gzip"):
        values["HTTP_CONTENT_ENCODING"] = "gzip"
    protocol = headers.get("Git-Protocol", "")
    if _PROTOCOL.fullmatch(protocol):
        values["GIT_PROTOCOL"] = protocol
    return values


def read_config(backend: GitBackend) -> dict[str, str]:
    """Return git's configuration: hide the platform's refs, and keep replaced history for sandboxes that use it."""
    return {**SAFE_CONFIG, **KEEP_REPLACED, "transfer.hideRefs": backend.hidden_refs}


def push_config(backend: GitBackend, *, max_bytes: int, rewrites: bool, deletes: bool = False) -> dict[str, str]:
    """Return git's configuration for receiving a push of at most `max_bytes`.

    `rewrites` allows to replace the history of the pushed branches, `deletes` to delete them.
    """
    return {
        **read_config(backend),
        **PUSH_CONFIG,
        "receive.denyNonFastForwards": "false" if rewrites else "true",
        "receive.denyDeletes": "false" if deletes else "true",
        "receive.maxInputSize": str(min(backend.max_push_bytes, max_bytes)),
    }


def max_body_bytes(backend: GitBackend) -> int:
    """Return how much of a body is passed to git, which rejects a body that was cut off as incomplete."""
    return backend.max_push_bytes + _MAX_COMMAND_BYTES
