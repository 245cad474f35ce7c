"""Messages to running agents, with receipts."""
