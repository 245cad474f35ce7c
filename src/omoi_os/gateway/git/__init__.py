"""Git over smart HTTP for sandboxes: reads of the project's repository, pushes to the task's branches."""
