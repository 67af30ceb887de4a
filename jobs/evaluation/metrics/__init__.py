"""Metrics of a reply that need no judge, and intervals."""
