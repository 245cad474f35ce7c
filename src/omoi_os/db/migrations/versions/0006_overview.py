"""Indexes for what is open and for what the last days brought."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    is_open = sa.text("status NOT IN ('completed', 'failed', 'cancelled')")
    op.create_index("ix_tasks_open", "tasks", ["status"], postgresql_where=is_open)
    op.create_index("ix_tasks_completed_at", "tasks", ["completed_at"])
    op.create_index("ix_sandboxes_created_at_id", "sandboxes", ["created_at", "id"])


def downgrade() -> None:
    op.drop_index("ix_sandboxes_created_at_id", "sandboxes")
    op.drop_index("ix_tasks_completed_at", "tasks")
    op.drop_index("ix_tasks_open", "tasks")
