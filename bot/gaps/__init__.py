"""Gaps in the documents: what was asked in vain, put together, and closed by what is written."""
