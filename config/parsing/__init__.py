"""Strict readers for YAML, JSON, schedules and secret files, with errors in plain words."""
