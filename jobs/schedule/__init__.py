"""Refreshes domains on their own schedules, and records each run."""
