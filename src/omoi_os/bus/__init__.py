"""The bus: wake-ups between processes. It carries no facts."""
