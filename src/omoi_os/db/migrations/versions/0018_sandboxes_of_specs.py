"""Sandboxes that serve a spec instead of a task, and the reservations of their model calls."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_ONE_SUBJECT = "num_nonnulls(task_id, spec_id) = 1"
_ALIVE_WORK = "spec_id IS NOT NULL AND purpose = 'work' AND status IN ('creating', 'running', 'stopping')"

#: The tables whose rows belong to a sandbox, in the order in which they can be deleted.
_PARTS = ("sandbox_salvages", "sandbox_events", "sandbox_blobs", "sandbox_messages", "session_transcripts")


def upgrade() -> None:
    for table in ("sandboxes", "model_reservations"):
        op.alter_column(table, "task_id", nullable=True)
        op.add_column(table, sa.Column("spec_id", sa.Uuid(), nullable=True))
        op.create_check_constraint(op.f(f"ck_{table}_one_subject"), table, _ONE_SUBJECT)
    op.create_index("ix_sandboxes_spec_id", "sandboxes", ["spec_id"], postgresql_where=sa.text("spec_id IS NOT NULL"))
    op.create_index(
        "uq_sandboxes_one_alive_per_spec",
        "sandboxes",
        ["spec_id"],
        unique=True,
        postgresql_where=sa.text(_ALIVE_WORK),
    )
    op.create_index(op.f("ix_model_reservations_spec_id"), "model_reservations", ["spec_id"])
    # The sandbox of a transcript says which task or spec it belongs to.
    op.drop_column("session_transcripts", "task_id")


def downgrade() -> None:
    op.add_column("session_transcripts", sa.Column("task_id", sa.Uuid(), nullable=True))
    _delete_sandboxes_of_specs()
    op.execute("UPDATE session_transcripts t SET task_id = s.task_id FROM sandboxes s WHERE s.id = t.sandbox_id")
    op.alter_column("session_transcripts", "task_id", nullable=False)
    op.create_foreign_key(op.f("fk_session_transcripts_task_id"), "session_transcripts", "tasks", ["task_id"], ["id"])
    op.create_index(op.f("ix_session_transcripts_task_id"), "session_transcripts", ["task_id"])
    for table in ("sandboxes", "model_reservations"):
        op.drop_column(table, "spec_id")
        op.alter_column(table, "task_id", nullable=False)


def _delete_sandboxes_of_specs() -> None:
    """Delete what the earlier schema cannot hold."""
    op.execute("DELETE FROM model_reservations WHERE task_id IS NULL")
    for table in _PARTS:
        op.execute(
            f"DELETE FROM {table} WHERE sandbox_id IN (SELECT id FROM sandboxes WHERE task_id IS NULL)"  # noqa: S608
        )
    op.execute("DELETE FROM sandboxes WHERE task_id IS NULL")
