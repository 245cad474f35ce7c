"""The database: engine, sessions, migrations, embedded server."""
