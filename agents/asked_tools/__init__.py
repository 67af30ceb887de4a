"""Tools of others that a domain allows: who is on call, what a service depends on."""
