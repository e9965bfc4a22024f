"""Concave shapes, felt as they are: docs/concave.md."""
