"""Converts Google Docs' JSON to blocks."""
