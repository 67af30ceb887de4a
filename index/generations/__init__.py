"""A generation on disk: built, staged, sealed, recovered."""
