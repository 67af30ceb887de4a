"""Golden questions replayed before a new index or configuration is used."""
