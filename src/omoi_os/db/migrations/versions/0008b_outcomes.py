"""The verdict on each attempt, and which part of a cost is simulated."""

import sqlalchemy as sa
from alembic import op

revision = "0008b"
down_revision = "0010"
branch_labels = None
depends_on = None

#: Events of earlier versions have no verdict; there, `verified` without a single check proved nothing.
#: Texts with escapes that PostgreSQL cannot decode are left out: they would stop the migration.
_VERDICTS = r"""
    UPDATE sandboxes s SET verdict = CASE
        WHEN NOT (e.event_data->>'verified')::boolean THEN 'failed'
        WHEN json_array_length(e.event_data->'checks') = 0 THEN 'unchecked'
        ELSE 'verified' END
    FROM (
        SELECT DISTINCT ON (sandbox_id) sandbox_id, event_data FROM sandbox_events
        WHERE event_type = 'task.verified' AND event_data::text !~ '\\u(0000|[dD][89a-fA-F])'
        ORDER BY sandbox_id, seq DESC
    ) e WHERE e.sandbox_id = s.id
"""


def upgrade() -> None:
    op.add_column("sandboxes", sa.Column("verdict", sa.Text(), nullable=True))
    for table in ("sandboxes", "tasks"):
        op.add_column(table, sa.Column("simulated_cost_usd", sa.Float(), server_default="0", nullable=False))
    op.execute(_VERDICTS)
    op.execute("UPDATE sandboxes SET simulated_cost_usd = cost_usd WHERE model = 'scripted' AND cost_usd > 0")
    op.execute(
        "UPDATE tasks t SET simulated_cost_usd = s.cost FROM"
        " (SELECT task_id, sum(simulated_cost_usd) AS cost FROM sandboxes GROUP BY task_id) s"
        " WHERE s.task_id = t.id AND s.cost > 0"
    )


def downgrade() -> None:
    for table in ("tasks", "sandboxes"):
        op.drop_column(table, "simulated_cost_usd")
    op.drop_column("sandboxes", "verdict")
