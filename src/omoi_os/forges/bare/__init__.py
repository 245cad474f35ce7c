"""Bare repositories on this machine: git commands, layout, creation, durability, damage, maintenance, locks."""
