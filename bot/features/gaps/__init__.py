"""Documentation gaps: unanswered questions, grouped, reported, checked again."""
