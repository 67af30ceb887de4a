"""What is seen of an answer that is not there yet: its steps, and its words as they come."""
