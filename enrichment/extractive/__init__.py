"""Summaries, FAQs, keywords and entities by rule."""
