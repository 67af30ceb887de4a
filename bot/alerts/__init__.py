"""Messages of alert bots: one thread for each kind, answered by its runbook, counted there."""
