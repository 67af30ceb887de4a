"""How often runbook entries were used, and how it went."""
