"""Tickets: what a person wants done."""
