"""The SQL database, from which everything else can be rebuilt."""
