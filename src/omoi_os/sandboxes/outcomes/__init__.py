"""What a sandbox produced: diffs, logs, transcripts, blobs."""
