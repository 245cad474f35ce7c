"""Recovery: sandboxes that ended, died, got stuck or were lost, and saving their work."""
