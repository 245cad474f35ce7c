"""The orchestrator: compare what should be with what is, and act."""
