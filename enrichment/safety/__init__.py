"""Planted instructions withheld, and model output checked against its source."""
