"""The agent driver for Claude: SDK, translation, transcripts, skills, session files."""
