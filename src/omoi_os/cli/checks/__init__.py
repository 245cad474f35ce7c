"""Checks that commands run: components of this machine, a finished run, the acceptance case."""
