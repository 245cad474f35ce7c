"""Git on bare repositories: commands, durability, damage, maintenance, locks."""
