"""`effort: thorough`: judges what was found, searches in other ways, criticises the answer."""
