"""Texts of a hostile agent and a hostile user, and a session that contains all of them."""

import json
import shlex
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from tests.e2e.platform import Platform, wait_for

ELSEWHERE = "elsewhere.invalid"
_ACT = "window.pwned=1"
HTML = (
    f'<img src=x onerror="{_ACT}"><svg onload="{_ACT}"></svg><script>{_ACT}</script>'
    f'<iframe src="javascript:parent.{_ACT}"></iframe>'
)
MARKDOWN = f"""[press](javascript:{_ACT}) [data](data:text/html,<script>{_ACT}</script>) <javascript:{_ACT}>
[named] ![seen](https://{ELSEWHERE}/seen.png) [jAvAsCrIpT](jAvAsCrIpT:{_ACT}) {HTML}

[named]: javascript:{_ACT}
"""
#: A link, the clipboard, a cleared screen, the cursor moved up, the same by C1, reversed text.
TRICKS = ["\x1b]8;;javascript:window.pwned=1\x07", "\x1b]52;c;ZXZpbA==\x07", "\x1b[2J", "\x1b[1A", "\x9b2J"]
TURNED = "\u202eturned\u202c \u2066apart\u2069"
TERMINAL = "tricks " + "".join(TRICKS) + TURNED
#: For titles and names, in one line.
LINE = f"{HTML} \u202eturned\u202c \x9b2J"
FILE = f"<img src=x onerror={_ACT}> \u202egvs.svg"

#: Finds everything on the page that is not inert, shadow roots of diffs included.
LOOK = r"""() => {
  const found = [];
  const acting = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
  const look = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) look(element.shadowRoot);
      if (element.matches("iframe, object, embed")) found.push(element.outerHTML);
      for (const { name, value } of element.attributes) {
        if (/^on/i.test(name)) found.push(`${name} of ${element.tagName}`);
        const leads = /^(href|src|action|formaction|xlink:href)$/i.test(name);
        if (leads && /^\s*(javascript|data):/i.test(value)) found.push(value);
        if (acting.test(value)) found.push(`${name} acts: ${JSON.stringify(value)}`);
      }
      if (element.matches("script, style")) continue;
      const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
      for (const { data } of texts) if (acting.test(data)) found.push(`acts: ${JSON.stringify(data)}`);
    }
  };
  look(document);
  if (acting.test(document.title)) found.push(`the title acts: ${document.title}`);
  if (window.pwned !== undefined) found.push("a script ran");
  return found;
}"""


@dataclass(frozen=True)
class Run:
    """A finished session of a hostile ticket."""

    ticket_id: str
    sandbox_id: str
    #: A ticket whose attempt ended with a hostile reason.
    failed_ticket_id: str
    #: A word that the ticket and nothing else has.
    word: str


def hostile_run(platform: Platform) -> Run:
    """Run an agent that writes, prints, reports and replies with hostile texts."""
    word = f"hostile{uuid4().hex[:8]}"
    platform.script(f"a-{word}", json.dumps({"match": f"fails {word}", "steps": _failing()}))
    platform.script(f"b-{word}", json.dumps({"match": word, "steps": _steps()}))
    project_id = platform.project(f"{word} {LINE}")
    command = f"cat -- {shlex.quote(FILE)} # {HTML}"
    task = platform.ticket(
        f"{word} {LINE}", description=f"{MARKDOWN} {TERMINAL}", project_id=project_id, acceptance=[command]
    )
    sandbox_id = wait_for("a sandbox", lambda: platform.task(task["id"])["sandbox_id"])
    platform.post(f"/sandboxes/{sandbox_id}/messages", {"content": f"{HTML} {TERMINAL}"})
    failed = platform.ticket(f"fails {word}", project_id=project_id)
    wait_for("an attempt to fail", lambda: [each for each in platform.sandboxes(failed["id"]) if each["ended_at"]])
    platform.post(f"/tasks/{failed['id']}/cancel")
    platform.finished(task["id"])
    return Run(task["ticket_id"], str(sandbox_id), failed["ticket_id"], word)


def _steps() -> list[dict[str, Any]]:
    said = [
        {"event_type": "agent.started", "event_data": {"branch_name": LINE, "model": LINE}},
        {
            "event_type": "agent.error",
            "event_data": {"error": f"{HTML} {TERMINAL}", "error_type": "tool", "hint": LINE},
        },
        {"event_type": "agent.interrupted", "event_data": {"reason": LINE}},
        {"event_type": "agent.thinking", "event_data": {"text": f"{MARKDOWN} {TERMINAL}"}},
        # A property name that every JavaScript object has.
        {"event_type": "constructor", "event_data": {"constructor": LINE, "__proto__": LINE}},
        {"event_type": "agent.tool_use", "event_data": {"tool": LINE, "tool_use_id": LINE, "input": {LINE: LINE}}},
    ]
    return [
        {"tool": "Write", "input": {"file_path": FILE, "content": f"{HTML}\n{TERMINAL}\n"}},
        {"tool": "Bash", "input": {"command": f"cat -- *.svg # {HTML}", "description": LINE}},
        {"tool": "Bash", "input": {"command": "; ".join(_post(event) for event in said)}},
        {"text": f"{MARKDOWN} {TERMINAL}"},
    ]


def _failing() -> list[dict[str, Any]]:
    failed = {"event_type": "agent.failed", "event_data": {"error": LINE, "error_type": "tool", "hint": LINE}}
    return [{"tool": "Bash", "input": {"command": _post(failed)}}, {"text": "It failed."}]


def _post(event: dict[str, Any]) -> str:
    """Return a command that posts an event with the sandbox's token, as no worker would."""
    headers = '-H "Authorization: Bearer $ANTHROPIC_AUTH_TOKEN" -H "Content-Type: application/json"'
    return f"curl -sS {headers} -d {shlex.quote(json.dumps(event))} $CALLBACK_URL"
