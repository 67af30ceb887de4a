"""Ingest: sources, preparation, publishing."""
