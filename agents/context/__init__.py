"""Selects and joins the passages that the answerer reads."""
