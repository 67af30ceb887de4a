"""Nearest vectors: quantised, searched exactly or by a sketch."""
