"""Writes plain text, links and inline markdown for all loaders."""
