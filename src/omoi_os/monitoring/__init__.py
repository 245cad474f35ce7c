"""What goes on, for people to look at."""
