"""Words of others made harmless: what is an address, what may be opened, what would ping."""
