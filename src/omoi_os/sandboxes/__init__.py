"""Sandboxes: one attempt at a task, with its events, blobs and transcript."""
