"""Answers given before, given again to the same question in other words."""
