"""Records branches created for their task, the last turn of each project, and how large a sandbox's events are."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tasks", sa.Column("branch_created", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    # Tasks that were claimed before have their branch.
    op.execute("UPDATE tasks SET branch_created = true WHERE fence > 0")
    op.add_column("sandboxes", sa.Column("event_bytes", sa.BigInteger(), server_default="0", nullable=False))
    op.create_table(
        "project_turns",
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_project_turns_project_id_projects")),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_project_turns")),
    )
    is_pending = sa.text("status = 'pending'")
    op.create_index(
        "ix_tasks_turn", "tasks", ["project_id", sa.text("priority_rank DESC"), "id"], postgresql_where=is_pending
    )
    op.create_index(
        "ix_tasks_not_before",
        "tasks",
        ["not_before"],
        postgresql_where=sa.text("status = 'pending' AND not_before IS NOT NULL"),
    )
    op.drop_index("ix_tasks_queue", "tasks")


def downgrade() -> None:
    op.create_index(
        "ix_tasks_queue",
        "tasks",
        [sa.text("priority_rank DESC"), "id"],
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.drop_index("ix_tasks_not_before", "tasks")
    op.drop_index("ix_tasks_turn", "tasks")
    op.drop_table("project_turns")
    op.drop_column("sandboxes", "event_bytes")
    op.drop_column("tasks", "branch_created")
