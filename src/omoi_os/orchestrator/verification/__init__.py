"""Verification: run the checks on a pushed commit, each in a fresh sandbox, and store the verdict."""
