"""Text that speaks to whoever writes the answer instead of about the matter."""
