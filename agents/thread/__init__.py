"""A thread's context for a question: its earlier turns, and when and where it was asked."""
