"""The verbs of each topic, with their routes."""
