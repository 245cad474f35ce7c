"""The workspace's git repository: checkout, changes, diffs, push."""
