"""The scripted model: an Anthropic-compatible server that replays a script."""
