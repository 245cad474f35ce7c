"""Members of projects with their roles, and when API keys were last used."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

_WITH_REPOSITORY = "deleted_at IS NULL AND github_owner IS NOT NULL"


def upgrade() -> None:
    op.create_table(
        "project_members",
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=op.f("fk_project_members_project_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_project_members_user_id")),
        sa.PrimaryKeyConstraint("project_id", "user_id", name=op.f("pk_project_members")),
    )
    op.create_index("ix_project_members_user_id_project_id", "project_members", ["user_id", "project_id"])
    op.execute(
        "INSERT INTO project_members (project_id, user_id, role, created_at)"
        " SELECT id, created_by, 'owner', created_at FROM projects"
    )
    op.create_index(
        "ix_projects_repository",
        "projects",
        ["github_owner", "github_repo"],
        postgresql_where=sa.text(_WITH_REPOSITORY),
    )
    op.add_column("api_keys", sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("api_keys", "last_used_at")
    op.drop_index("ix_projects_repository", table_name="projects")
    op.drop_table("project_members")
