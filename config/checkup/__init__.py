"""What a check of an installation finds, and what a pasted secret or address really is."""
