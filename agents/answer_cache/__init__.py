"""Reuses an earlier answer for the same question in other words."""
