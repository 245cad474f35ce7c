"""Messages that are delivered again, sites, and the data folder of the local forge."""

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

    for name in ("forge_site", "forge_host", "forge_path"):
        op.add_column("installation", sa.Column(name, sa.Text(), nullable=True))
    op.create_table(
        "sites",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("owner", sa.BigInteger(), nullable=False),
        sa.Column("last_served_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_sites")),
    )


def downgrade() -> None:
    op.drop_table("sites")
    for name in ("forge_path", "forge_host", "forge_site"):
        op.drop_column("installation", name)
    op.drop_column("sandbox_messages", "redeliveries")
    op.drop_column("sandbox_messages", "kept_in")
