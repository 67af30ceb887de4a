"""Documents to chunks with cards, ready for the index."""
