"""The machine under the platform: durable files, free space, child processes, limits."""
