"""Replies to alert bots: one thread per kind of alert, answered by its runbook."""
