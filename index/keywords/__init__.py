"""BM25 over text and metadata."""
