"""What is open at the start of a shift, sent once."""
