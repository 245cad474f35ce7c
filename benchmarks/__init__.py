"""Benchmarks: our figures next to a floor, a peer or a limit, as ratios of one run on one machine."""
