"""Alembic's entry: runs on the connection that `omoi_os.db.migrate` hands over."""

from alembic import context

from omoi_os.db.models import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, compare_server_default=True)
with context.begin_transaction():
    context.run_migrations()
