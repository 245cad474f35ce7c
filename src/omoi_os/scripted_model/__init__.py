"""An Anthropic-compatible model server that plays a script."""
