"""Artifacts of a sandbox: diffs, logs, transcripts, blobs."""
