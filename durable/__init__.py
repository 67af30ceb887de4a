"""Work that outlives the process that does it: leases, recovery, DBOS."""
