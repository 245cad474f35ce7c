"""Attempts that the platform ended, and disks that are kept until their work is saved."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tasks", sa.Column("platform_ends", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "sandbox_salvages",
        sa.Column("sandbox_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text()),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True)),
        sa.Column("wait_until", sa.DateTime(timezone=True)),
        sa.Column("disk_bytes", sa.BigInteger()),
        sa.Column("lease_owner", sa.BigInteger()),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False, server_default=sa.func.now()),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("sandbox_id", name=op.f("pk_sandbox_salvages")),
        sa.ForeignKeyConstraint(
            ["sandbox_id"], ["sandboxes.id"], name=op.f("fk_sandbox_salvages_sandbox_id_sandboxes")
        ),
    )
    is_open = sa.text("state IN ('pending', 'kept')")
    op.create_index("ix_sandbox_salvages_open", "sandbox_salvages", ["created_at"], postgresql_where=is_open)


def downgrade() -> None:
    op.drop_index("ix_sandbox_salvages_open", "sandbox_salvages")
    op.drop_table("sandbox_salvages")
    op.drop_column("tasks", "platform_ends")
