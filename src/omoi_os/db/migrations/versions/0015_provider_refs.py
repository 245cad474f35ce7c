"""The provider's own name of a sandbox, in the warm pool too."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.alter_column("warm_sandboxes", "ref", new_column_name="id")
    op.add_column("warm_sandboxes", sa.Column("provider_ref", sa.Text(), nullable=True))
    op.execute("UPDATE warm_sandboxes SET provider_ref = id")
    # Every provider named its sandboxes after the gateway socket. Rows of sandboxes that may not exist yet stay
    # without a name: the reconciler finds those by their id.
    op.execute(
        "UPDATE sandboxes SET provider_ref = gateway_socket WHERE provider_ref IS NULL AND ("
        " gateway_socket <> id OR id IN (SELECT sandbox_id FROM sandbox_salvages WHERE state IN ('pending', 'kept')))"
    )


def downgrade() -> None:
    op.drop_column("warm_sandboxes", "provider_ref")
    op.alter_column("warm_sandboxes", "id", new_column_name="ref")
