"""What happened that should not: kept for administrators, bounded however often it happens."""
