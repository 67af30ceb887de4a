"""Answers mentions and direct messages: intake, limits, attempts."""
