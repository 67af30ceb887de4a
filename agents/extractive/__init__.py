"""Answers without a model: direct answers, excerpts, cells of tables, and how sure they are."""
