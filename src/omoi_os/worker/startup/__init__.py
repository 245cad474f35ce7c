"""From the first instruction of the worker to a known assignment."""
