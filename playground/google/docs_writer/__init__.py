"""Markdown to the JSON that `documents.get` returns."""
