"""Messages that are delivered again."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sandbox_messages", sa.Column("kept_in", sa.Text(), nullable=True))
    op.add_column("sandbox_messages", sa.Column("redeliveries", sa.Integer(), server_default="0", nullable=False))
    # What was seen before this counts as part of the conversation that was saved then.
    op.execute(
        "UPDATE sandbox_messages SET kept_in = sandbox_id WHERE delivered_at IS NOT NULL AND seen_at IS NOT NULL"
    )


def downgrade() -> None:
    op.drop_column("sandbox_messages", "redeliveries")
    op.drop_column("sandbox_messages", "kept_in")
