"""Loads local files and exports: HTML, Markdown, Word, PDF, text."""
