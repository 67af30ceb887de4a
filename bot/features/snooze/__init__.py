"""Snoozed kinds of alerts, and those that nobody acts on."""
