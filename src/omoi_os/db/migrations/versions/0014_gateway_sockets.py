"""The name of a sandbox's gateway socket."""

from alembic import op

revision = "0014"
down_revision = "0008b"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.alter_column("sandboxes", "door", new_column_name="gateway_socket")


def downgrade() -> None:
    op.alter_column("sandboxes", "gateway_socket", new_column_name="door")
