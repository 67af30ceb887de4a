"""Alerts: read out of a message, matched to the one row or heading that tells what to do."""
