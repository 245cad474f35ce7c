"""From a claimed task to its running sandbox."""
