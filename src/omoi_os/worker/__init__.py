"""The program inside a sandbox; may import only protocol/."""
