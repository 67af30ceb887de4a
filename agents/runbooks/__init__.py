"""Finds the runbook row or section for an alert, and reads its numbered steps."""
