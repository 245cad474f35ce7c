"""The driver for Claude, on the Claude Agent SDK and the CLI that it includes."""
