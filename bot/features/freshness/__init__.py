"""Cited documents that changed, expired, were flagged or contradict each other."""
