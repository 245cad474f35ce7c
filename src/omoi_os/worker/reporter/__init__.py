"""The reporter: spool, delivery, heartbeat, messages, and the link to the agent driver."""
