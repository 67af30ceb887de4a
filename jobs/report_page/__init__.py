"""A report as one page to read."""
