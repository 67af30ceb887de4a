"""Converts cells with spans to rectangular grids, headers and markdown."""
