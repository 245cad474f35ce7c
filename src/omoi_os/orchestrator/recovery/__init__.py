"""Rows against reality: sandboxes that ended, died, got stuck or were lost, and the work they held."""
