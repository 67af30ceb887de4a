"""A runbook's steps as a checklist in the thread."""
