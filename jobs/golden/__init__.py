"""Reads, checks, imports and proposes golden questions."""
