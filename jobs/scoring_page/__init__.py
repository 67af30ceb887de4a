"""A page on which an expert scores answers blind."""
