"""Reserves the cost of model calls that are under way; lets keys be replaced and users be deactivated."""

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
    op.add_column("users", sa.Column("deactivated_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("api_keys", sa.Column("source", sa.Text(), nullable=True))
    op.add_column("api_keys", sa.Column("replaced_at", sa.DateTime(timezone=True), nullable=True))
    op.execute(
        "UPDATE api_keys SET source = 'setting' WHERE name = 'first key'"
        " AND user_id IN (SELECT id FROM users WHERE email = 'admin@localhost')"
    )
    op.add_column("browser_sessions", sa.Column("scope", sa.Text(), nullable=True))
    op.add_column("browser_sessions", sa.Column("api_key_id", sa.Uuid(), nullable=True))
    op.create_foreign_key(
        op.f("fk_browser_sessions_api_key_id_api_keys"), "browser_sessions", "api_keys", ["api_key_id"], ["id"]
    )


def downgrade() -> None:
    op.drop_column("browser_sessions", "api_key_id")
    op.drop_column("browser_sessions", "scope")
    op.drop_column("api_keys", "replaced_at")
    op.drop_column("api_keys", "source")
    op.drop_column("users", "deactivated_at")
    op.drop_table("model_reservations")
