"""Ask a human: the card, and whoever is on call."""
