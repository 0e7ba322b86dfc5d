"""Trials behind design decisions: small, run by hand, their figures written down in docs/decisions."""
