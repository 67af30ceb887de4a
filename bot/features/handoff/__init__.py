"""Ask a human: the card, the call, the escalation."""
