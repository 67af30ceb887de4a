"""Owners of documents: what is suggested to them, and what comes of it."""
