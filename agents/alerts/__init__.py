"""Alerts: found in messages, with their names, labels and amounts."""
