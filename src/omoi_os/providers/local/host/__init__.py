"""The platform's side of local sandboxes: create, control, inspect, destroy."""
