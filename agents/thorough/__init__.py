"""`effort: thorough`: judges the passages, searches in other ways, criticizes the answer."""
