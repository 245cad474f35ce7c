"""The host: durable files, free space, child processes, limits."""
