"""What kind of error ended a task, and requests to verify its commit again."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tasks", sa.Column("error_type", sa.Text(), nullable=True))
    op.add_column("tasks", sa.Column("verification_requested_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("tasks", sa.Column("verification_acceptance", sa.JSON(), nullable=True))
    op.add_column("tasks", sa.Column("verification_tries", sa.Integer(), nullable=False, server_default="0"))
    op.create_index(
        "ix_tasks_verification_requested_at",
        "tasks",
        ["verification_requested_at"],
        postgresql_where=sa.text("verification_requested_at IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_tasks_verification_requested_at", "tasks")
    for name in ("verification_tries", "verification_acceptance", "verification_requested_at", "error_type"):
        op.drop_column("tasks", name)
