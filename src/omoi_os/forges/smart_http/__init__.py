"""Git over smart HTTP, for the gateway and the API: requests, the commands of a push, and git's own backend."""
