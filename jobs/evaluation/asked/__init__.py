"""What answers them, several at a time, and what is kept of the replies."""
