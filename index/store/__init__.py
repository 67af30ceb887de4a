"""The SQL truth from which all else can be rebuilt."""
