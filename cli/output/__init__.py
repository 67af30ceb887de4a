"""Terminal output: answers, tables, usage errors."""
