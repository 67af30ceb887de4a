"""Drafts for the owners of documents, each decided by a human."""
