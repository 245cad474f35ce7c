"""Tickets whose status no longer is `blocked` because a task has failed."""

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

#: The rule of `tickets.status.derive`, for tickets with a failed task.
_DERIVE = """
WITH states AS (
    SELECT ticket_id,
        array_agg(status) FILTER (WHERE status NOT IN ('completed', 'failed', 'cancelled')) AS open
    FROM tasks GROUP BY ticket_id HAVING 'failed' = ANY(array_agg(status))
)
UPDATE tickets SET status = CASE
    WHEN states.open IS NULL THEN 'failed'
    WHEN states.open && ARRAY['assigned', 'running'] THEN 'building'
    WHEN 'verifying' = ANY(states.open) THEN 'testing'
    WHEN 'pending' = ANY(states.open) THEN 'building'
    ELSE 'blocked'
END
FROM states WHERE states.ticket_id = tickets.id AND tickets.status = 'blocked'
"""


def upgrade() -> None:
    op.execute(_DERIVE)


def downgrade() -> None:
    op.execute("UPDATE tickets SET status = 'blocked' WHERE status = 'failed'")
