"""People: what is kept about them, who was shown what."""
