"""The audit trail, gaps in what sandboxes post, and the age of answers under an idempotency key."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_entries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("hour", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("actor_kind", sa.Text(), nullable=False),
        sa.Column("actor_id", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
        sa.UniqueConstraint(
            "actor_kind", "actor_id", "kind", "hour", name=op.f("uq_audit_entries_actor_kind_actor_id_kind_hour")
        ),
    )
    op.create_index(op.f("ix_audit_entries_at"), "audit_entries", ["at"])
    op.create_index(op.f("ix_idempotent_requests_created_at"), "idempotent_requests", ["created_at"])
    op.add_column("sandboxes", sa.Column("gap_after", sa.BigInteger(), nullable=True))
    op.add_column("sandboxes", sa.Column("gap_seen_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("sandboxes", sa.Column("gap_flagged_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_index(op.f("ix_idempotent_requests_created_at"), "idempotent_requests")
    for column in ("gap_flagged_at", "gap_seen_at", "gap_after"):
        op.drop_column("sandboxes", column)
    op.drop_table("audit_entries")
