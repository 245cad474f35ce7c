"""Agent drivers: the interface they implement, the registry, and one package for each agent."""
