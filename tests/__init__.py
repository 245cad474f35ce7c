"""Tests mirror src/omoi_os; e2e/ holds the whole path."""
