"""Sources of documents: each module is one, with the schema of its keys in a domain file."""
