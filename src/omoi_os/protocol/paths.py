"""Places and names that both sides of a sandbox's wall rely on."""

#: Where the task's repository is checked out, inside a sandbox.
WORKSPACE = "/workspace"

#: The agent's home, inside a sandbox.
HOME = "/home/agent"

#: The worker's spool of events, in the home so that it outlives the worker.
SPOOL = f"{HOME}/.omoi/spool"

#: Large values that an event names by their hash, until the worker has put them.
BLOBS = f"{HOME}/.omoi/blobs"

#: The folder bound into a sandbox that holds the gateway's socket, and the socket's name in it.
GATEWAY_FOLDER = "/run/omoi"
GATEWAY_SOCKET = "gateway.sock"

#: The loopback port inside a sandbox that leads to the gateway socket, for programs that cannot speak unix sockets.
GATEWAY_PORT = 8901

#: Where a mirror of the project's repository is bound in read-only, if there is one.
MIRROR = "/run/mirror.git"

#: A file in the repository of a workspace that was there before its worker: the commit whose files are checked out.
PREPARED = ".git/omoi-prepared"

#: The worker's process id, for whoever asks it to stop.
PID_FILE = f"{HOME}/.omoi/worker.pid"
