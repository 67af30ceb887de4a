"""Tools of others that a domain allows."""
