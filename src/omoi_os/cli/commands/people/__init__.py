"""Commands about users and API keys."""
