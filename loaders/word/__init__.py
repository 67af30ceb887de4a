"""Reads Word files: parts, styles, numbers, runs, tables."""
