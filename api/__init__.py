"""The HTTP API: the same agents through another door."""
