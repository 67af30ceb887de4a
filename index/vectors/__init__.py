"""Nearest vectors: exact in memory, or by Chroma."""
