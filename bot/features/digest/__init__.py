"""A digest of open work at the start of a shift, sent once."""
