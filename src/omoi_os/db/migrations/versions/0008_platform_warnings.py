"""Warnings of the platform, shown by `/ready` and on the page."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "platform_warnings",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", "source", name=op.f("pk_platform_warnings")),
    )
    op.create_index("ix_platform_warnings_updated_at", "platform_warnings", ["updated_at"])


def downgrade() -> None:
    op.drop_table("platform_warnings")
