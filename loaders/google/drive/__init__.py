"""What is in Drive, what changed, who may read it."""
