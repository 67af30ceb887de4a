"""The HTTP routes: questions, passages, conversations."""
