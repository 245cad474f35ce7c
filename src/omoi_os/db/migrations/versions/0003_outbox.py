"""The outbox, counts of events, messages that wait, ad hoc tasks, transcripts in parts, and retention."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "outbox",
        sa.Column("xid", sa.BigInteger(), server_default=sa.text("pg_current_xact_id()::text::bigint"), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("change", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("sandbox_id", sa.Text(), nullable=True),
        sa.Column("first_seq", sa.BigInteger(), nullable=True),
        sa.Column("last_seq", sa.BigInteger(), nullable=True),
        sa.Column("data", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("xid", "id", name=op.f("pk_outbox")),
    )
    op.create_index("ix_outbox_created_at", "outbox", ["created_at"])
    op.add_column("sandboxes", sa.Column("event_counts", sa.JSON(), nullable=True))
    op.add_column("sandboxes", sa.Column("first_heartbeat_at", sa.DateTime(timezone=True), nullable=True))
    op.execute(
        "UPDATE sandboxes SET event_counts = coalesce((SELECT json_object_agg(event_type, n) FROM (SELECT event_type,"
        " count(*) AS n FROM sandbox_events WHERE sandbox_id = sandboxes.id GROUP BY event_type) AS counted), '{}')"
    )
    op.alter_column("sandboxes", "event_counts", nullable=False)
    op.execute(
        "UPDATE sandboxes SET first_heartbeat_at = (SELECT min(created_at) FROM sandbox_events"
        " WHERE sandbox_id = sandboxes.id AND event_type = 'agent.heartbeat')"
    )
    op.create_index(
        "ix_sandbox_messages_waiting",
        "sandbox_messages",
        ["sandbox_id", "id"],
        postgresql_where=sa.text("acked_at IS NULL"),
    )
    op.add_column("tasks", sa.Column("model", sa.Text(), nullable=True))
    op.add_column("tasks", sa.Column("linger_seconds", sa.Integer(), server_default="0", nullable=False))
    op.add_column("tasks", sa.Column("requires_commit", sa.Boolean(), server_default=sa.true(), nullable=False))
    op.execute("UPDATE tasks SET requires_commit = task_type = 'implementation'")
    op.create_table(
        "claude_session_transcript_parts",
        sa.Column("sandbox_id", sa.Text(), nullable=False),
        sa.Column("start", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["sandbox_id"],
            ["claude_session_transcripts.sandbox_id"],
            name=op.f("fk_claude_session_transcript_parts_sandbox_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("sandbox_id", "start", name=op.f("pk_claude_session_transcript_parts")),
    )
    op.execute(
        "INSERT INTO claude_session_transcript_parts SELECT sandbox_id, 0, content FROM claude_session_transcripts"
    )
    op.drop_column("claude_session_transcripts", "content")
    op.add_column("claude_session_transcripts", sa.Column("received_bytes", sa.BigInteger(), nullable=True))
    op.execute("UPDATE claude_session_transcripts SET received_bytes = size_bytes")
    op.alter_column("claude_session_transcripts", "received_bytes", nullable=False)
    op.add_column("sandboxes", sa.Column("pruned_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(
        "ix_sandboxes_unpruned",
        "sandboxes",
        ["project_id", "ended_at"],
        postgresql_where=sa.text("pruned_at IS NULL AND ended_at IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_table("claude_session_transcript_parts")
    op.drop_column("claude_session_transcripts", "received_bytes")
    op.add_column(
        "claude_session_transcripts", sa.Column("content", sa.LargeBinary(), server_default="", nullable=False)
    )
    op.alter_column("claude_session_transcripts", "content", server_default=None)
    op.drop_index("ix_sandboxes_unpruned", "sandboxes")
    op.drop_column("sandboxes", "pruned_at")
    op.drop_column("tasks", "requires_commit")
    op.drop_column("tasks", "linger_seconds")
    op.drop_column("tasks", "model")
    op.drop_index("ix_sandbox_messages_waiting", "sandbox_messages")
    op.drop_column("sandboxes", "first_heartbeat_at")
    op.drop_column("sandboxes", "event_counts")
    op.drop_table("outbox")
