"""The audit trail: refused calls and account changes, kept for administrators and bounded in size."""
