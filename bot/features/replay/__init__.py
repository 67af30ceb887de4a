"""Replays past questions with an edited document, before anybody publishes the edit."""
