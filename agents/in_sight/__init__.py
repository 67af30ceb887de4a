"""What operators are told of each question: figures, and one line in the log."""
