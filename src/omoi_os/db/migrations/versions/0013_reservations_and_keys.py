"""Reserves the cost of model calls that are under way."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "model_reservations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("gateway_id", sa.Uuid(), nullable=False),
        sa.Column("amount_usd", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_model_reservations_task_id_tasks")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_reservations")),
    )
    op.create_index(op.f("ix_model_reservations_task_id"), "model_reservations", ["task_id"])
    op.create_index(op.f("ix_model_reservations_gateway_id"), "model_reservations", ["gateway_id"])


def downgrade() -> None:
    op.drop_table("model_reservations")
