"""The index: immutable generations of each domain, written offline and read online."""
