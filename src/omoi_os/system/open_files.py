"""Raise the limit on open files: every connection needs one."""

import resource

#: Below this a process runs out of descriptors with a thousand clients and their sandboxes.
ENOUGH = 4096


def raise_limit() -> str | None:
    """Raise this process's soft limit to its hard limit; return a sentence if that is too low."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return None if hard == resource.RLIM_INFINITY else warning(hard)


def warning(hard: int) -> str | None:
    """Return why a hard limit is too low for a busy platform and what to do, or None if it is high enough."""
    if hard >= ENOUGH:
        return None
    return (
        f"this process may open only {hard} files, so it refuses connections beyond about that many; raise the hard "
        f"limit to {ENOUGH} or more (`ulimit -Hn`, or LimitNOFILE in a systemd unit)"
    )
