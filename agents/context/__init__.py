"""What the answerer reads of the passages found."""
