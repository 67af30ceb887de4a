"""Rankings, their fusion and reranking."""
