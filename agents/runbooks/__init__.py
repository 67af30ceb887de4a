"""Runbooks: finds the entry for an alert, answers with it, and reads the steps of a section."""
