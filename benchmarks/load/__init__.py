"""What drives and observes the platform: load generators, a model host, tickets with timings."""
