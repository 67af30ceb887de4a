"""Strict readers for YAML, JSON, schedules and secret files."""
