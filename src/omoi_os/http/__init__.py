"""The HTTP kit that every concept's routes import: bodies, paging, problem details, limits."""
