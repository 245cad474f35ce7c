"""Agent drivers, one package each."""
