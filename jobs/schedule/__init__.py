"""Domains refreshed on their own schedules, and what is kept of each run."""
