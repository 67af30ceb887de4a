"""What a thread brings to a question: its earlier turns, and when and where it was asked."""
