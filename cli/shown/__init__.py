"""What people read on a terminal or in a pipe: answers, and what was typed wrongly."""
