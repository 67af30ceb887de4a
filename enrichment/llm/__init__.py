"""What a language model adds to a document: verified, cached, within a budget."""
