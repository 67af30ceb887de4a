"""What is written to disk: for its owner alone."""
