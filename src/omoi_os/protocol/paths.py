"""Paths inside a sandbox that the platform and the worker both rely on."""

#: The checkout of the task's repository.
WORKSPACE = "/workspace"

#: The agent's home.
HOME = "/home/agent"

#: The worker's spool, in the home so that it outlives the worker.
SPOOL = f"{HOME}/.omoi/spool"

#: Large values that wait to be uploaded, each named by its hash.
BLOBS = f"{HOME}/.omoi/blobs"

#: The folder that is bound into a sandbox for its gateway socket, and the socket's name in it.
GATEWAY_FOLDER = "/run/omoi"
GATEWAY_SOCKET = "gateway.sock"

#: The loopback port that forwards to the gateway socket, for programs that cannot use unix sockets.
GATEWAY_PORT = 8901

#: The mirror of the project's repository, bound in read-only if there is one.
MIRROR = "/run/mirror.git"

#: The marker of a prepared checkout, relative to the workspace. It holds the commit that is checked out.
PREPARED = ".git/omoi-prepared"

#: The reporter's process id, for the command that stops it.
PID_FILE = f"{HOME}/.omoi/worker.pid"
