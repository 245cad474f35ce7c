"""The registry of agent drivers. Adding one takes its package and a line here.

The first stage of the worker imports this module, so it loads nothing itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from omoi_os.worker.agents.base import AgentDriver

#: The package of each driver; `base` says what it holds.
DRIVERS = {"claude": "omoi_os.worker.agents.claude"}

DEFAULT = "claude"


def driver_module(name: str = DEFAULT) -> str:
    """Return the module that runs as the driver process."""
    return f"{DRIVERS[name]}.driver"


def agent_module(name: str = DEFAULT) -> str:
    """Return the module that holds the driver's `AgentDriver`."""
    return f"{DRIVERS[name]}.agent"


def load_agent(name: str = DEFAULT) -> AgentDriver:
    """Return the driver's `AgentDriver`."""
    import importlib

    agent: AgentDriver = importlib.import_module(agent_module(name)).AGENT
    return agent
