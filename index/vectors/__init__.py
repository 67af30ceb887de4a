"""Nearest vectors: quantized, searched exactly or by a sketch."""
