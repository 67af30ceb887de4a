"""A generation on disk: built, staged, kept, healed."""
