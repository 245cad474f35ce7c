"""Names without an agent vendor for the tables of transcripts."""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_STATEMENTS = (
    "ALTER TABLE {old}session_transcripts RENAME TO {new}session_transcripts",
    "ALTER TABLE {old}session_transcript_parts RENAME TO {new}session_transcript_parts",
    "ALTER INDEX ix_{old}session_transcripts_task_id RENAME TO ix_{new}session_transcripts_task_id",
    *(
        f"ALTER TABLE {{new}}{table} RENAME CONSTRAINT {kind}_{{old}}{table}{column} TO {kind}_{{new}}{table}{column}"
        for table, kind, column in (
            ("session_transcripts", "pk", ""),
            ("session_transcripts", "fk", "_sandbox_id"),
            ("session_transcripts", "fk", "_task_id"),
            ("session_transcript_parts", "pk", ""),
            ("session_transcript_parts", "fk", "_sandbox_id"),
        )
    ),
)


def upgrade() -> None:
    _rename("claude_", "")


def downgrade() -> None:
    _rename("", "claude_")


def _rename(old: str, new: str) -> None:
    for statement in _STATEMENTS:
        op.execute(statement.format(old=old, new=new))
