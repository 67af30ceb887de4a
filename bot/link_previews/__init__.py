"""Links to documents, shown with what they open, to whom may read it."""
