"""What people are shown live: every change that is streamed is a row of one outbox."""
