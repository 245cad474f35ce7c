"""Git over smart HTTP for people: `/git/{project_id}.git`, with an API key as the password."""
