"""The wire between worker and service: standard library only, imports nothing of ours."""
