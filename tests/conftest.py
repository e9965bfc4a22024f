"""Shared by all tests: `lab` is on the path (see pyproject.toml)."""
