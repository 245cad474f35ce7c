"""Checks on a pushed commit, each in a fresh sandbox, and the verdict."""
