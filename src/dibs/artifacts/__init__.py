"""Artifacts: bytes that tasks leave behind, kept beside the store and found by their content."""
