"""Gateway sockets, causes of a stop, what sandboxes use, warm sandboxes, and the installation's name."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sandboxes", sa.Column("door", sa.Text(), nullable=True))
    op.execute("UPDATE sandboxes SET door = id")
    op.alter_column("sandboxes", "door", nullable=False)
    op.add_column("sandboxes", sa.Column("stop_cause", sa.Text(), nullable=True))
    op.add_column("sandboxes", sa.Column("memory_bytes", sa.BigInteger(), nullable=True))
    op.add_column("sandboxes", sa.Column("cpu_seconds", sa.Float(), nullable=True))
    op.add_column("sandboxes", sa.Column("disk_bytes", sa.BigInteger(), nullable=True))
    op.add_column("sandboxes", sa.Column("pids", sa.Integer(), nullable=True))
    op.create_table(
        "warm_sandboxes",
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("site", sa.Text(), nullable=False),
        sa.Column("owner", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("ref", name=op.f("pk_warm_sandboxes")),
    )
    op.create_index(op.f("ix_warm_sandboxes_owner"), "warm_sandboxes", ["owner"], unique=False)
    installation = op.create_table(
        "installation",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_installation_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_installation")),
    )
    op.execute(
        installation.insert().values(id=1, name=sa.text("'omoi-' || substr(md5(random()::text || now()::text), 1, 12)"))
    )


def downgrade() -> None:
    op.drop_table("installation")
    op.drop_table("warm_sandboxes")
    for column in ("pids", "disk_bytes", "cpu_seconds", "memory_bytes", "stop_cause", "door"):
        op.drop_column("sandboxes", column)
