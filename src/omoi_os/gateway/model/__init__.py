"""Model calls of sandboxes: reduced to an allow-list, forwarded with the real key, metered, budgeted."""
