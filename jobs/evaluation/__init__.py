"""Evaluates a domain with golden questions: metrics, verdicts, comparison, report."""
