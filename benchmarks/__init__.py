"""Benchmarks: ours beside the limit or the peer, as ratios of one run on one machine."""
