"""Sentences in code: ingest, evaluate."""
