"""Model calls of sandboxes: reduced to an allow-list, then forwarded and metered."""
