"""Verdicts and corrections that people give on answers."""
