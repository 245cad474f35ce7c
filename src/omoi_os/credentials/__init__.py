"""Credentials: encrypted secrets for models and forges, of one person or of the installation."""
