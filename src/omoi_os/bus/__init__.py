"""Wake-ups and fan-out between processes; never the truth."""
