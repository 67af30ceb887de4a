"""Words and sentences, for every layer."""
