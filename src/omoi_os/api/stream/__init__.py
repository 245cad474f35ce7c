"""The WebSocket and the event stream of the API."""
